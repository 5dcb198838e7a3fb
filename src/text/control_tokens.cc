// Reading added_tokens_decoder and finding control spellings in text.
#include "text/control_tokens.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/try.h"

namespace trine {
namespace {

constexpr size_t kSpellingBytesMax = 256;

}  // namespace

Result<ControlTokens> ControlTokens::parse(std::string_view config_json, int32_t base,
                                           const std::string& where) {
  TRINE_ASSIGN_OR_RETURN(const json::Value config, json::parse(config_json, where));
  ControlTokens out;
  out.base_ = base;
  out.spellings_.resize(kControlSlots);
  const json::Value* added = config.find("added_tokens_decoder");
  if (added == nullptr || !added->is_object())
    return Status(Code::kCorrupt, where +
                                      ": added_tokens_decoder is missing or no object; expected "
                                      "{id: {\"content\": spelling}}, fetch the file again");
  for (const auto& [key, token] : added->as_object()) {
    const json::Value* content = token.find("content");
    if (content == nullptr || !content->is_string())
      return Status(Code::kCorrupt, where + ": added_tokens_decoder[" + json::quote(key) +
                                        "] has no string \"content\"");
    TRINE_RETURN_IF_ERROR(out.add(key, content->as_string(), where));
  }
  for (int32_t slot = 0; slot < kControlSlots; ++slot) {
    std::string& spelling = out.spellings_[static_cast<size_t>(slot)];
    if (spelling.empty()) spelling = "<|reserved_token_" + std::to_string(base + slot) + "|>";
  }
  TRINE_RETURN_IF_ERROR(out.sort(where));
  return out;
}

Status ControlTokens::add(const std::string& key, const std::string& spelling,
                          const std::string& where) {
  const std::string place = where + ": added_tokens_decoder[" + json::quote(key) + "]: ";
  int32_t id = -1;
  const auto [stop, code] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (code != std::errc() || stop != key.data() + key.size())
    return Status(Code::kCorrupt, place + "the key is no id");
  if (!contains(id))
    return Status(Code::kCorrupt, place + "control ids are " + std::to_string(base_) + ".." +
                                      std::to_string(base_ + kControlSlots - 1) + ", above the " +
                                      std::to_string(base_) +
                                      " ranks of tiktoken.model; do the two "
                                      "files belong together?");
  if (spelling.empty() || spelling.size() > kSpellingBytesMax)
    return Status(Code::kCorrupt, place + "a spelling of " + std::to_string(spelling.size()) +
                                      " bytes, expected 1.." + std::to_string(kSpellingBytesMax));
  std::string& slot = spellings_[static_cast<size_t>(id - base_)];
  if (!slot.empty())
    return Status(Code::kCorrupt, place + "id " + std::to_string(id) + " appears twice");
  slot = spelling;
  return Status();
}

Status ControlTokens::sort(const std::string& where) {
  for (uint16_t slot = 0; slot < kControlSlots; ++slot) {
    sorted_.push_back(slot);
    first_bytes_[static_cast<uint8_t>(spellings_[slot][0])] = true;
  }
  std::sort(sorted_.begin(), sorted_.end(),
            [&](uint16_t a, uint16_t b) { return spellings_[a] < spellings_[b]; });
  for (size_t i = 1; i < sorted_.size(); ++i)
    if (spellings_[sorted_[i]] == spellings_[sorted_[i - 1]])
      return Status(Code::kCorrupt, where + ": added_tokens_decoder spells " +
                                        json::quote(spellings_[sorted_[i]]) + " for two ids");
  return Status();
}

int32_t ControlTokens::find(std::string_view spelling) const {
  const Match match = match_prefix(spelling);
  return match.bytes == spelling.size() ? match.id : -1;
}

// Narrows the range of spellings that agree with the text so far, byte by byte.
ControlTokens::Match ControlTokens::match_prefix(std::string_view text) const {
  Match best;
  if (text.empty() || !first_bytes_[static_cast<uint8_t>(text[0])]) return best;
  auto low = sorted_.begin();
  auto high = sorted_.end();
  for (size_t depth = 0; low != high; ++depth) {
    // The shortest comes first; all in the range agree with text on `depth` bytes.
    if (spellings_[*low].size() == depth) {
      if (depth > 0) best = {base_ + *low, depth};
      if (++low == high) break;
    }
    if (depth == text.size()) break;
    const auto byte = static_cast<uint8_t>(text[depth]);
    const auto at = [&](uint16_t slot) { return static_cast<uint8_t>(spellings_[slot][depth]); };
    low = std::partition_point(low, high, [&](uint16_t slot) { return at(slot) < byte; });
    high = std::partition_point(low, high, [&](uint16_t slot) { return at(slot) == byte; });
  }
  return best;
}

}  // namespace trine
