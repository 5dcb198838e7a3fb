// Cuts typed, aligned arrays out of one block; with a null block it only adds up the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace trine::model {

class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}

  template <typename T>
  T* take(int64_t count) {
    constexpr int64_t kAlignment = 64;
    const int64_t at = used_;
    used_ += (count * static_cast<int64_t>(sizeof(T)) + kAlignment - 1) / kAlignment * kAlignment;
    most_ = std::max(most_, used_);
    if (base_ == nullptr || count == 0) return nullptr;
    return static_cast<T*>(static_cast<void*>(base_ + at));
  }

  /// What is taken after rewind(mark()) shares memory with what was taken between the two.
  int64_t mark() const { return used_; }
  void rewind(int64_t mark) { used_ = mark; }
  /// Bytes needed for everything taken so far.
  int64_t bytes() const { return most_; }

 private:
  std::byte* base_;
  int64_t used_ = 0;
  int64_t most_ = 0;
};

}  // namespace trine::model
