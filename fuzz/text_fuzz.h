// A small tokenizer for the fuzz targets: all bytes, a few merges, the control tokens of XTML.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "trine/tokenizer.h"

namespace trine::fuzz {

/// Ends the process: the fuzzer found a broken promise.
inline void require(bool promise) {
  if (!promise) std::abort();
}

inline std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = (group << 8) | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i)
      out += at + i <= bytes.size() ? kDigits[(group >> (18 - 6 * i)) & 63] : '=';
  }
  return out;
}

/// Lines of tiktoken.model for the 256 single bytes.
inline std::string single_bytes() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte)
    out += base64(std::string(1, static_cast<char>(byte))) + " " + std::to_string(byte) + "\n";
  return out;
}

inline const Tokenizer& small_tokenizer() {
  static const Tokenizer tokenizer = [] {
    std::string ranks = single_bytes();
    int rank = 256;
    for (const char* merge :
         {"  ",   "    ", "\n\n", "in",   "th",   "the",      " the",         "er",       "aa",
          "aaaa", "ab",   "abc",  "bc",   "'s",   "\xE4\xBD", "\xE4\xBD\xA0", "\xF0\x9F", "12",
          "123",  "<|",   "|>",   "call", "tool", "=\"",      "\" "})
      ranks += base64(merge) + " " + std::to_string(rank++) + "\n";
    const auto slot = [&](int offset, const std::string& spelling) {
      return "\"" + std::to_string(rank + offset) + "\": {\"content\": \"" + spelling + "\"}";
    };
    const std::string config = "{\"added_tokens_decoder\": {" + slot(1, "[EOS]") + "," +
                               slot(2, "<|end_of_msg|>") + "," + slot(3, "<|open|>") + "," +
                               slot(4, "<|close|>") + "," + slot(5, "<|sep|>") + "," +
                               slot(9, "[EOT]") + "}}";
    Result<Tokenizer> made = Tokenizer::parse(ranks, config);
    require(made.ok());
    return *std::move(made);
  }();
  return tokenizer;
}

}  // namespace trine::fuzz
