// CPU features by CPUID and XCR0: a level counts only if the operating system saves its registers.
#include "platform/cpu.h"

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace trine {
namespace {

constexpr std::array<Isa, 5> kLevels = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16,
                                        Isa::kAmx};

#if defined(__x86_64__)

struct CpuidWords {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidWords cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidWords words;
  if (__get_cpuid_count(leaf, subleaf, &words.eax, &words.ebx, &words.ecx, &words.edx) == 0) {
    return {};
  }
  return words;
}

bool has(uint32_t word, int bit) { return ((word >> bit) & 1U) != 0; }

// The register sets that the operating system saves on a context switch (0 without XSAVE).
uint64_t saved_register_sets() {
  if (!has(cpuid(1, 0).ecx, 27)) return 0;
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// Linux gives tile registers only to processes that ask; the answer holds for later threads too.
bool tiles_permitted() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kTileData = 18;
  return ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}

Isa detect() {
  constexpr uint64_t kYmm = 0x6;   // SSE and AVX state
  constexpr uint64_t kZmm = 0xe6;  // and opmask, upper ZMM halves, ZMM16-31
  constexpr uint64_t kTiles = 0x60000;
  const uint64_t saved = saved_register_sets();
  const CpuidWords basic = cpuid(1, 0);
  const CpuidWords extended = cpuid(7, 0);
  const CpuidWords extended1 = cpuid(7, 1);

  const bool fma = has(basic.ecx, 12);
  const bool f16c = has(basic.ecx, 29);
  const bool avx2 = has(extended.ebx, 5);
  if (!(avx2 && fma && f16c && (saved & kYmm) == kYmm)) return Isa::kScalar;

  const bool f = has(extended.ebx, 16);
  const bool dq = has(extended.ebx, 17);
  const bool bw = has(extended.ebx, 30);
  const bool vl = has(extended.ebx, 31);
  if (!(f && dq && bw && vl && (saved & kZmm) == kZmm)) return Isa::kAvx2;

  const bool vnni = has(extended.ecx, 11);
  const bool bf16 = has(extended1.eax, 5);
  if (!(vnni && bf16)) return Isa::kAvx512;

  const bool amx = has(extended.edx, 22) && has(extended.edx, 24) && has(extended.edx, 25);
  if (!(amx && (saved & kTiles) == kTiles && tiles_permitted())) return Isa::kAvx512Bf16;
  return Isa::kAmx;
}

// "AMD EPYC 9V74 80-Core Processor" with the blanks that some processors pad it with removed.
std::string brand() {
  std::array<char, 49> text{};
  for (uint32_t part = 0; part < 3; ++part) {
    const CpuidWords words = cpuid(0x80000002U + part, 0);
    std::memcpy(text.data() + 16 * part, &words, 16);
  }
  std::string name(text.data());
  const size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return "x86-64 processor";
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

std::string family_and_model() {
  const uint32_t word = cpuid(1, 0).eax;
  uint32_t family = (word >> 8) & 0xf;
  uint32_t model = (word >> 4) & 0xf;
  if (family == 0x6 || family == 0xf) model += ((word >> 16) & 0xf) << 4;
  if (family == 0xf) family += (word >> 20) & 0xff;
  return "family " + std::to_string(family) + " model " + std::to_string(model);
}

#else

Isa detect() { return Isa::kScalar; }
std::string brand() { return "unknown processor"; }
std::string family_and_model() { return "family unknown"; }

#endif

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kScalar: return "scalar";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
    case Isa::kAvx512Bf16: return "avx512_bf16";
    case Isa::kAmx: return "amx";
  }
  return "unknown";
}

Isa best_isa() {
  static const Isa best = detect();
  return best;
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : kLevels) {
    if (isa <= best_isa()) isas.push_back(isa);
  }
  return isas;
}

Result<Isa> choose_isa(const std::string& override_name) {
  if (override_name.empty()) return best_isa();
  std::string names;
  for (const Isa isa : kLevels) {
    if (override_name == isa_name(isa)) {
      if (isa <= best_isa()) return isa;
      return Status(Code::kUnsupported,
                    "instruction set '" + override_name + "' was asked for, but this processor (" +
                        cpu_model_name() + ") or its kernel has '" + isa_name(best_isa()) +
                        "' at most; choose a lower level or none");
    }
    names += std::string(names.empty() ? "" : ", ") + isa_name(isa);
  }
  return Status(Code::kInvalidArgument,
                "no instruction set is named '" + override_name + "'; expected one of " + names);
}

std::string cpu_model_name() { return brand() + ", " + family_and_model(); }

}  // namespace trine
