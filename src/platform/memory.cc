// Memory limits from /proc and the control group; anonymous huge-page buffers.
#include "platform/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "platform/cgroup.h"
#include "platform/file.h"

namespace trine {
namespace {

constexpr int64_t kHugePageBytes = int64_t{2} << 20;
constexpr int64_t kProcFileBytesMax = int64_t{1} << 20;
constexpr int64_t kBytesMax = int64_t{1} << 60;

// The value in bytes of a line "Key:   123 kB"; -1 when there is none.
int64_t kilobyte_field(std::string_view text, std::string_view key) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.substr(0, key.size()) != key || line.size() <= key.size() || line[key.size()] != ':') {
      continue;
    }
    line.remove_prefix(key.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    int64_t value = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), value);
    if (parsed.ec != std::errc() || value < 0) return -1;
    return value > kBytesMax / 1024 ? kBytesMax : value * 1024;
  }
  return -1;
}

std::string slurp(const std::string& path) {
  Result<std::string> text = read_file(path, kProcFileBytesMax);
  return text.ok() ? std::move(text).value() : std::string();
}

int64_t page_bytes() { return ::sysconf(_SC_PAGESIZE); }

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// With thousands separated: "27,648".
std::string grouped(int64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0 && digits[i - 1] != '-') out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace

MemoryLimit memory_limit(const std::string& root) {
  const std::string prefix = root == "/" ? "" : root;
  const std::string meminfo = slurp(prefix + "/proc/meminfo");
  MemoryLimit limit;
  limit.source = "RAM";
  limit.total_bytes = kilobyte_field(meminfo, "MemTotal");
  if (limit.total_bytes <= 0) limit.total_bytes = ::sysconf(_SC_PHYS_PAGES) * page_bytes();
  limit.available_bytes = kilobyte_field(meminfo, "MemAvailable");
  if (limit.available_bytes < 0) {  // kernels before 3.14, and broken files
    const int64_t free = kilobyte_field(meminfo, "MemFree");
    const int64_t cached = kilobyte_field(meminfo, "Cached");
    limit.available_bytes = free < 0 ? limit.total_bytes : free + std::max<int64_t>(0, cached);
  }
  limit.available_bytes = std::min(limit.available_bytes, limit.total_bytes);

  const CgroupMemory group = cgroup_memory(prefix);
  if (group.limited) {
    if (group.limit_bytes < limit.total_bytes) {
      limit.total_bytes = group.limit_bytes;
      limit.source = group.version == 1 ? "cgroup v1 limit" : "cgroup v2 limit";
    }
    limit.available_bytes = std::min(limit.available_bytes, group.available_bytes);
  }
  return limit;
}

int64_t peak_rss_bytes() {
  return std::max<int64_t>(0, kilobyte_field(slurp("/proc/self/status"), "VmHWM"));
}

int64_t current_rss_bytes() {
  return std::max<int64_t>(0, kilobyte_field(slurp("/proc/self/status"), "VmRSS"));
}

bool reset_peak_rss() {
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (file == nullptr) return false;
  const bool written = std::fputs("5", file) >= 0;
  return std::fclose(file) == 0 && written;
}

Result<Buffer> Buffer::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > kBytesMax) {
    return Status(Code::kOutOfMemory, "cannot allocate " + std::to_string(bytes) + " bytes");
  }
  Buffer buffer;
  if (bytes == 0) return buffer;
  const bool huge = bytes >= kHugePageBytes;
  const int64_t mapped = round_up(bytes, huge ? kHugePageBytes : page_bytes());
  const int64_t slack = huge ? kHugePageBytes : 0;
  void* base = ::mmap(nullptr, static_cast<size_t>(mapped + slack), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    const MemoryLimit limit = memory_limit();
    return Status(Code::kOutOfMemory, "the system refused " + format_bytes(bytes) + " (" +
                                          format_bytes(limit.available_bytes) + " available, " +
                                          limit.source + "); free memory or raise the limit");
  }
  auto* start = static_cast<std::byte*>(base);
  if (huge) {  // cut the unaligned ends off, so that address space stays what was asked for
    const auto misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(base) %
                                                 static_cast<uintptr_t>(kHugePageBytes));
    const int64_t head = misaligned == 0 ? 0 : kHugePageBytes - misaligned;
    if (head > 0) ::munmap(start, static_cast<size_t>(head));
    start += head;
    if (slack > head) ::munmap(start + mapped, static_cast<size_t>(slack - head));
    ::madvise(start, static_cast<size_t>(mapped), MADV_HUGEPAGE);  // a wish: kernels may lack it
  }
  buffer.data_ = start;
  buffer.size_ = bytes;
  buffer.mapped_ = mapped;
  return buffer;
}

Buffer::~Buffer() {
  if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(mapped_));
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Buffer old(std::move(*this));
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
  }
  return *this;
}

std::string format_bytes(int64_t bytes) {
  if (bytes < (int64_t{1} << 20)) return grouped(bytes) + " B";
  struct Unit {
    const char* name;
    int shift;
  };
  constexpr std::array<Unit, 3> kUnits = {{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}}};
  for (const Unit& unit : kUnits) {
    const double value = static_cast<double>(bytes) / static_cast<double>(int64_t{1} << unit.shift);
    if (value < 1.0) continue;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit.shift == 20 ? "%.0f %s" : "%.2f %s", value,
                  unit.name);
    return text.data();
  }
  return grouped(bytes) + " B";
}

}  // namespace trine
