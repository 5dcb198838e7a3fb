// The 256 control slots above the ranks and their spellings (spec section 9).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trine/status.h"

namespace trine {

constexpr int32_t kControlSlots = 256;

class ControlTokens {
 public:
  struct Match {
    int32_t id = -1;
    size_t bytes = 0;
  };

  /// Spellings from tokenizer_config.json's added_tokens_decoder; other slots are
  /// <|reserved_token_ID|>. Ids count from `base`, the number of ranks.
  static Result<ControlTokens> parse(std::string_view config_json, int32_t base,
                                     const std::string& where);

  int32_t base() const { return base_; }
  bool contains(int32_t id) const { return id >= base_ && id < base_ + kControlSlots; }
  const std::string& spelling(int32_t id) const {
    return spellings_[static_cast<size_t>(id - base_)];
  }
  /// The id of a spelling, -1 if there is none.
  int32_t find(std::string_view spelling) const;
  /// The longest spelling that `text` starts with; id -1 if there is none.
  Match match_prefix(std::string_view text) const;

 private:
  Status add(const std::string& key, const std::string& spelling, const std::string& where);
  Status sort(const std::string& where);

  int32_t base_ = 0;
  std::vector<std::string> spellings_;  // by slot
  std::vector<uint16_t> sorted_;        // slots in the order of their spellings
  std::array<bool, 256> first_bytes_{};
};

}  // namespace trine
