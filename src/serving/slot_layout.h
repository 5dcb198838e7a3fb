// What lies in a slot: the executor's state, then the logits after the last token, so that a prompt
// that is known to its end needs no pass at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace trine::serving {

class SlotLayout {
 public:
  SlotLayout(int64_t state_bytes, int64_t vocab_size)
      : vocab_(vocab_size),
        logits_at_((state_bytes + kAlign - 1) / kAlign * kAlign),
        flag_at_(logits_at_ + (vocab_size * 4 + kAlign - 1) / kAlign * kAlign) {}

  int64_t bytes() const { return flag_at_ + kAlign; }
  std::span<float> logits(std::byte* slot) const {
    return {reinterpret_cast<float*>(slot + logits_at_), static_cast<size_t>(vocab_)};
  }
  /// The logits belong to the state's position.
  bool has_logits(const std::byte* slot) const {
    uint64_t flag;
    std::memcpy(&flag, slot + flag_at_, sizeof flag);
    return flag == kValid;
  }
  void set_has_logits(std::byte* slot, bool valid) const {
    const uint64_t flag = valid ? kValid : 0;
    std::memcpy(slot + flag_at_, &flag, sizeof flag);
  }

 private:
  static constexpr int64_t kAlign = 64;
  static constexpr uint64_t kValid = 0x73746967'6f6c6b6f;  // "oklogits"
  int64_t vocab_, logits_at_, flag_at_;
};

}  // namespace trine::serving
