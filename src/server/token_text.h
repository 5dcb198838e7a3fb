// Tokens as text, for logprobs.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/utf8.h"
#include "trine/tokenizer.h"

namespace trine::server {

/// A token by itself: its text (control tokens as they are spelled), or "bytes:\xf0\x9f" when it is
/// no whole text. Its bytes are Tokenizer::token_bytes.
std::string token_text(const Tokenizer& tokenizer, int32_t id);

/// What a token adds to a text. The pieces of all tokens, put together, are the text: a character
/// belongs to the token that completes it, and a token of which nothing is seen has "".
struct TokenPiece {
  int32_t id = 0;
  std::string text;
  int64_t offset = 0;  ///< characters (code points) before it
};

/// Pieces of a whole sequence; `offset` characters stand before it.
std::vector<TokenPiece> token_pieces(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                                     int64_t offset = 0);

/// The same for a stream in which text waits and is cut off at the end.
class TokenPieces {
 public:
  explicit TokenPieces(int64_t offset = 0) : offset_(offset) {}

  /// The next token completed this text; `settled`: no character is left half.
  void push(int32_t id, std::string_view text, bool settled);
  /// More text of the last token.
  void extend(std::string_view text);
  /// That many more bytes of the text are certain; appends the tokens that are complete by that.
  void release(size_t bytes, std::vector<TokenPiece>* out);
  /// Nothing more will be certain: appends the rest, their texts cut where the text ends.
  void finish(std::vector<TokenPiece>* out);

 private:
  void pop(std::vector<TokenPiece>* out);

  std::deque<TokenPiece> waiting_;
  size_t settled_ = 0;  // of the waiting ones
  size_t certain_ = 0;  // bytes, from the first waiting one on
  int64_t offset_;
};

}  // namespace trine::server
