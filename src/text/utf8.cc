// UTF-8 decoding and streaming; see the header.
#include "text/utf8.h"

namespace trine {
namespace {

constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";

struct Lead {
  uint32_t bytes = 0;  // 0: no lead byte
  uint32_t bits = 0;
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0xC2 || byte > 0xF4) return {};
  if (byte < 0xE0) return {2, byte & 0x1Fu, 0x80, 0xBF};
  if (byte < 0xF0) {
    const uint8_t low = byte == 0xE0 ? 0xA0 : 0x80;   // no overlong forms
    const uint8_t high = byte == 0xED ? 0x9F : 0xBF;  // no surrogates
    return {3, byte & 0x0Fu, low, high};
  }
  const uint8_t low = byte == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = byte == 0xF4 ? 0x8F : 0xBF;  // nothing above U+10FFFF
  return {4, byte & 0x07u, low, high};
}

// str.isspace() of Python.
bool is_python_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text, size_t at) {
  const auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = lead_of(first);
  if (lead.bytes == 0) return {};
  uint32_t code = lead.bits;
  for (uint32_t i = 1; i < lead.bytes; ++i) {
    if (at + i >= text.size()) return {kReplacementCharacter, i, false, true};
    const auto byte = static_cast<uint8_t>(text[at + i]);
    const uint8_t low = i == 1 ? lead.second_min : 0x80;
    const uint8_t high = i == 1 ? lead.second_max : 0xBF;
    if (byte < low || byte > high) return {kReplacementCharacter, i, false, false};
    code = (code << 6) | (byte & 0x3Fu);
  }
  return {code, lead.bytes, true, false};
}

void Utf8Stream::push(std::string_view bytes, std::string* out) {
  std::string joined;
  if (!held_.empty()) {
    joined = held_;
    joined += bytes;
    bytes = joined;
    held_.clear();
  }
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Char c = decode_utf8(bytes, at);
    if (c.incomplete) {
      held_ = bytes.substr(at);
      return;
    }
    out->append(c.valid ? bytes.substr(at, c.bytes) : kReplacementBytes);
    at += c.bytes;
  }
}

void Utf8Stream::finish(std::string* out) {
  if (!held_.empty()) *out += kReplacementBytes;
  held_.clear();
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  Utf8Stream stream;
  stream.push(bytes, &out);
  stream.finish(&out);
  return out;
}

bool is_blank(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!is_python_space(c.code)) return false;
    at += c.bytes;
  }
  return true;
}

}  // namespace trine
