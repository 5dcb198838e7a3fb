// The vocabulary for constraints; see the header.
#include "server/text_tokens.h"

#include <algorithm>

namespace trine::server {

TextTokens::TextTokens(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {
  const auto size = static_cast<size_t>(tokenizer.vocab_size());
  std::vector<std::string_view> tokens(size);
  std::vector<int32_t> control;
  text_.resize((size + 63) / 64);
  for (size_t i = 0; i < size; ++i) {
    const auto id = static_cast<int32_t>(i);
    tokens[i] = tokenizer.token_bytes(id);
    if (tokenizer.is_control(id)) {
      control.push_back(id);
    } else if (!tokens[i].empty()) {
      by_bytes_.push_back(id);
      set_bit(text_, id);
    }
  }
  std::sort(by_bytes_.begin(), by_bytes_.end(), [&](int32_t a, int32_t b) {
    return tokens[static_cast<size_t>(a)] < tokens[static_cast<size_t>(b)];
  });
  table_ = grammar::TokenTable::build(tokens, control);
}

void TextTokens::fill(std::span<uint64_t> bits) const {
  const size_t words = std::min(bits.size(), text_.size());
  std::copy_n(text_.begin(), words, bits.begin());
  std::fill(bits.begin() + static_cast<int64_t>(words), bits.end(), 0);
}

void TextTokens::add_beginnings(std::string_view text, std::span<uint64_t> bits) const {
  // The tokens that begin with the first n bytes of the text; the one that ends there comes first.
  auto first = by_bytes_.begin();
  auto last = by_bytes_.end();
  for (size_t n = 0; n < text.size() && first != last; ++n) {
    const auto at = [&](int32_t id) {
      return static_cast<uint8_t>(tokenizer_->token_bytes(id)[n]);
    };
    const auto byte = static_cast<uint8_t>(text[n]);
    first = std::partition_point(first, last, [&](int32_t id) { return at(id) < byte; });
    last = std::partition_point(first, last, [&](int32_t id) { return at(id) == byte; });
    for (; first != last && tokenizer_->token_bytes(*first).size() == n + 1; ++first)
      set_bit(bits, *first);
  }
}

}  // namespace trine::server
