// The vocabulary as constraints need it: which tokens are text, and which begin a given text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"
#include "trine/tokenizer.h"

namespace trine::server {

/// Immutable; one per vocabulary, shared by all constraints. The tokenizer must outlive it.
class TextTokens {
 public:
  explicit TextTokens(const Tokenizer& tokenizer);

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const std::shared_ptr<const grammar::TokenTable>& table() const { return table_; }

  /// Sets the bits of all tokens that are text, and clears all others.
  void fill(std::span<uint64_t> bits) const;
  /// Sets the bits of the tokens that `text` begins with.
  void add_beginnings(std::string_view text, std::span<uint64_t> bits) const;

 private:
  const Tokenizer* tokenizer_;
  std::shared_ptr<const grammar::TokenTable> table_;
  std::vector<int32_t> by_bytes_;  // text tokens, sorted by their bytes
  std::vector<uint64_t> text_;
};

inline void set_bit(std::span<uint64_t> bits, int32_t id) {
  const auto i = static_cast<size_t>(id);
  if (id >= 0 && i / 64 < bits.size()) bits[i / 64] |= uint64_t{1} << (i % 64);
}

}  // namespace trine::server
