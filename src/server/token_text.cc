// Tokens as text; see the header.
#include "server/token_text.h"

#include <algorithm>
#include <utility>

namespace trine::server {
namespace {

int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

}  // namespace

std::string token_text(const Tokenizer& tokenizer, int32_t id) {
  const std::string_view bytes = tokenizer.token_bytes(id);
  bool whole = true;
  for (size_t at = 0; at < bytes.size() && whole;) {
    const Utf8Char c = decode_utf8(bytes, at);
    whole = c.valid;
    at += c.bytes;
  }
  if (whole) return std::string(bytes);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    out += "\\x";
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::vector<TokenPiece> token_pieces(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                                     int64_t offset) {
  std::vector<TokenPiece> out;
  out.reserve(ids.size());
  Utf8Stream utf8;
  for (const int32_t id : ids) {
    TokenPiece piece{id, "", offset};
    utf8.push(tokenizer.token_bytes(id), &piece.text);
    if (out.size() + 1 == ids.size()) utf8.finish(&piece.text);
    offset += characters(piece.text);
    out.push_back(std::move(piece));
  }
  return out;
}

void TokenPieces::push(int32_t id, std::string_view text, bool settled) {
  waiting_.push_back({id, std::string(text), 0});
  if (settled) settled_ = waiting_.size();
}

void TokenPieces::extend(std::string_view text) {
  if (!waiting_.empty()) waiting_.back().text += text;
}

void TokenPieces::pop(std::vector<TokenPiece>* out) {
  TokenPiece& piece = waiting_.front();
  piece.offset = offset_;
  offset_ += characters(piece.text);
  certain_ -= piece.text.size();
  out->push_back(std::move(piece));
  waiting_.pop_front();
}

void TokenPieces::release(size_t bytes, std::vector<TokenPiece>* out) {
  certain_ += bytes;
  for (; settled_ > 0 && waiting_.front().text.size() <= certain_; --settled_) pop(out);
}

void TokenPieces::finish(std::vector<TokenPiece>* out) {
  while (!waiting_.empty()) {
    std::string& text = waiting_.front().text;
    text.resize(std::min(text.size(), certain_));
    pop(out);
  }
  settled_ = 0;
}

}  // namespace trine::server
