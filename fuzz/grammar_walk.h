// A short walk through a grammar's masks, checked at each step.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"

namespace trine::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline std::shared_ptr<const grammar::TokenTable> small_table() {
  std::vector<std::string> tokens;
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  for (const char* t : {"{\"", "\":", "\",", "\", \"", "\"}", "true", "null", "[[", "]]", "aa",
                        "ab", "12", "\\u00", "\xC3\xA9", "  ", ": "})
    tokens.emplace_back(t);
  const std::vector<std::string_view> views(tokens.begin(), tokens.end());
  return grammar::TokenTable::build(views, {});
}

/// Some 16 tokens from `seed`; every mask is what accept() says, and nothing ends in a dead end.
inline void walk(const std::shared_ptr<const grammar::Grammar>& grammar, uint64_t seed) {
  static const std::shared_ptr<const grammar::TokenTable> kTable = small_table();
  grammar::Matcher matcher(grammar, kTable);
  std::vector<uint64_t> bits(static_cast<size_t>(kTable->mask_words()));
  for (int step = 0; step < 16; ++step) {
    if (!matcher.fill_mask(bits).ok()) return;  // too ambiguous: refused
    std::vector<int32_t> ids;
    for (int32_t id = 0; id < kTable->size(); ++id) {
      const bool is_allowed = (bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0;
      grammar::Matcher copy = matcher;
      const Status status = copy.accept(id);
      require(status.code() == Code::kUnsupported || status.ok() == is_allowed);
      if (is_allowed) ids.push_back(id);
    }
    if (ids.empty()) return require(matcher.can_end());
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    if (!matcher.accept(ids[(seed >> 33) % ids.size()]).ok()) return;
  }
}

}  // namespace trine::fuzz
