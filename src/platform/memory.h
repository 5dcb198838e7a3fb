// How much memory may be used, how much is used, and big zeroed blocks to put weights and states
// in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trine/status.h"

namespace trine {

struct MemoryLimit {
  int64_t available_bytes =
      0;  ///< what can be taken now without paging: min(RAM, cgroup) minus its use
  int64_t total_bytes = 0;  ///< min(physical RAM, cgroup limit)
  std::string source;       ///< "RAM", "cgroup v1 limit", "cgroup v2 limit"
};
/// Reads /proc/meminfo and the cgroup (v1 or v2, the limits of parent groups included). The page
/// cache counts as available. `root` replaces "/" in tests.
MemoryLimit memory_limit(const std::string& root = "/");

int64_t peak_rss_bytes();
int64_t current_rss_bytes();
/// Forgets the peak so far (writes 5 to /proc/self/clear_refs); false where the kernel refuses.
bool reset_peak_rss();

/// Zero-filled anonymous memory, aligned to 2 MiB when large, with transparent huge pages asked for
/// (MADV_HUGEPAGE). Pages are placed by first touch.
class Buffer {
 public:
  Buffer() = default;
  /// kOutOfMemory when the system refuses.
  static Result<Buffer> allocate(int64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  int64_t mapped_ = 0;
};

/// "1.50 GiB", "443 MiB", "27,648 B".
std::string format_bytes(int64_t bytes);

}  // namespace trine
