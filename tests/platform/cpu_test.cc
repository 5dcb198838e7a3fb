// Levels against what the compiler's own detection and /proc/cpuinfo say.
#include "platform/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace trine {
namespace {

std::set<std::string> kernel_flags() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    if (line.compare(0, 5, "flags") != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> flags;
    for (std::string word; words >> word;) flags.insert(word);
    return flags;
  }
  return {};
}

bool has_all(const std::set<std::string>& flags, const std::vector<std::string>& wanted) {
  for (const std::string& flag : wanted) {
    if (flags.count(flag) == 0) return false;
  }
  return true;
}

TEST(Cpu, LevelAgreesWithTheFlagsThatTheKernelLists) {
  const std::set<std::string> flags = kernel_flags();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no flags here";
  Isa expected = Isa::kScalar;
  if (has_all(flags, {"avx2", "fma", "f16c"})) {
    expected = Isa::kAvx2;
    if (has_all(flags, {"avx512f", "avx512bw", "avx512dq", "avx512vl"})) {
      expected = Isa::kAvx512;
      if (has_all(flags, {"avx512_bf16", "avx512_vnni"})) {
        expected = Isa::kAvx512Bf16;
        if (has_all(flags, {"amx_tile", "amx_bf16", "amx_int8"})) expected = Isa::kAmx;
      }
    }
  }
  // A container may refuse tiles although the processor has them.
  if (expected == Isa::kAmx && best_isa() == Isa::kAvx512Bf16) expected = Isa::kAvx512Bf16;
  EXPECT_EQ(best_isa(), expected);
}

TEST(Cpu, SupportedLevelsRiseFromScalarToTheBest) {
  const std::vector<Isa> isas = supported_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::kScalar);
  EXPECT_EQ(isas.back(), best_isa());
  for (size_t i = 1; i < isas.size(); ++i) EXPECT_LT(isas[i - 1], isas[i]);
}

TEST(Cpu, EverySupportedNameChoosesItsLevel) {
  for (const Isa isa : supported_isas()) {
    const Result<Isa> chosen = choose_isa(isa_name(isa));
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    EXPECT_EQ(*chosen, isa);
  }
  EXPECT_EQ(*choose_isa(""), best_isa());
}

TEST(Cpu, LevelThatTheProcessorLacksIsUnsupported) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    if (isa <= best_isa()) continue;
    const Result<Isa> chosen = choose_isa(isa_name(isa));
    ASSERT_FALSE(chosen.ok());
    EXPECT_EQ(chosen.status().code(), Code::kUnsupported);
    EXPECT_NE(chosen.status().message().find(isa_name(best_isa())), std::string::npos);
  }
}

TEST(Cpu, UnknownNameIsInvalidAndListsTheNames) {
  for (const std::string name : {"sse9", "AVX2", "avx512bf16", " "}) {
    const Result<Isa> chosen = choose_isa(name);
    ASSERT_FALSE(chosen.ok()) << name;
    EXPECT_EQ(chosen.status().code(), Code::kInvalidArgument);
    EXPECT_NE(chosen.status().message().find("avx512_bf16"), std::string::npos);
  }
}

TEST(Cpu, ModelNameHasAFamilyAndNoPadding) {
  const std::string name = cpu_model_name();
  EXPECT_NE(name.find("family"), std::string::npos);
  EXPECT_NE(name.front(), ' ');
  EXPECT_EQ(name.find('\0'), std::string::npos);
}

}  // namespace
}  // namespace trine
