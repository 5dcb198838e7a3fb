// RFC 8259, no extensions: no comments, no NaN, no trailing commas, strings in valid UTF-8.
#include "checkpoint/json_cursor.h"

#include <charconv>

namespace trine::checkpoint {
namespace {

void append_utf8(uint32_t c, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 63));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 63));
    put(0x80 | (c & 63));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 63));
    put(0x80 | ((c >> 6) & 63));
    put(0x80 | (c & 63));
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool JsonCursor::fail(const char* what) {
  if (error_.empty()) error_ = std::string(what) + " at byte " + std::to_string(at_);
  at_ = text_.size();
  return false;
}

void JsonCursor::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
    ++at_;
  }
}

char JsonCursor::peek() {
  skip_blanks();
  if (failed() || at_ >= text_.size()) return 0;
  const char c = text_[at_];
  if (is_digit(c) || c == '-') return '0';
  if (c == 't' || c == 'f') return 't';
  return c == '{' || c == '[' || c == '"' || c == 'n' ? c : char{0};
}

bool JsonCursor::take(char c) {
  skip_blanks();
  if (failed() || at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool JsonCursor::enter_object() {
  if (!take('{')) return fail("no object");
  first_ = true;
  return true;
}

bool JsonCursor::enter_array() {
  if (!take('[')) return fail("no array");
  first_ = true;
  return true;
}

// A comma before every item but the first; false at the closing bracket. After a value was read we
// are never `first_` again, because closing sets it to false as well.
bool JsonCursor::next_item(char close) {
  if (failed()) return false;
  if (take(close)) {
    first_ = false;
    return false;
  }
  if (!first_ && !take(',')) return fail("a comma or the end of the list is missing");
  first_ = false;
  return true;
}

bool JsonCursor::next_key(std::string* key) {
  if (!next_item('}')) return false;
  if (!read_string(key)) return false;
  return take(':') || fail("no colon after a key");
}

bool JsonCursor::next_element() { return next_item(']'); }

bool JsonCursor::hex4(uint32_t* out) {
  if (text_.size() - at_ < 4) return fail("short \\u escape");
  const char* begin = text_.data() + at_;
  const auto [end, status] = std::from_chars(begin, begin + 4, *out, 16);
  if (status != std::errc() || end != begin + 4) return fail("wrong \\u escape");
  at_ += 4;
  return true;
}

bool JsonCursor::escape(std::string* out) {
  if (at_ >= text_.size()) return fail("unfinished string");
  const char c = text_[at_++];
  constexpr std::string_view kFrom = "\"\\/bfnrt";
  constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
  if (const size_t i = kFrom.find(c); i != std::string_view::npos) {
    out->push_back(kTo[i]);
    return true;
  }
  uint32_t code = 0;
  if (c != 'u') return fail("unknown escape");
  if (!hex4(&code)) return false;
  if (code >= 0xDC00 && code < 0xE000) return fail("lone surrogate");
  if (code >= 0xD800 && code < 0xDC00) {
    uint32_t low = 0;
    if (text_.substr(at_, 2) != "\\u") return fail("lone surrogate");
    at_ += 2;
    if (!hex4(&low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) return fail("lone surrogate");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(code, out);
  return true;
}

bool JsonCursor::utf8_sequence(std::string* out) {
  const auto byte = [this](size_t i) {
    return at_ + i < text_.size()
               ? static_cast<uint32_t>(static_cast<unsigned char>(text_[at_ + i]))
               : 0u;
  };
  const uint32_t lead = byte(0);
  const size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (length == 0) return fail("invalid UTF-8");
  uint32_t code = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return fail("invalid UTF-8");
    code = (code << 6) | (byte(i) & 63u);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    return fail("invalid UTF-8");
  out->append(text_.substr(at_, length));
  at_ += length;
  return true;
}

bool JsonCursor::read_string(std::string* out) {
  out->clear();
  if (!take('"')) return fail("no string");
  for (;;) {
    size_t end = at_;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\\' &&
           static_cast<unsigned char>(text_[end]) >= 0x20 &&
           static_cast<unsigned char>(text_[end]) < 0x80)
      ++end;
    out->append(text_.substr(at_, end - at_));
    at_ = end;
    if (at_ >= text_.size()) return fail("unfinished string");
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c < 0x20) return fail("control character in a string");
    if (c >= 0x80) {
      if (!utf8_sequence(out)) return false;
      continue;
    }
    ++at_;
    if (c == '"') return true;
    if (!escape(out)) return false;
  }
}

bool JsonCursor::read_count(int64_t* out) {
  skip_blanks();
  const char* begin = text_.data() + at_;
  const char* end = text_.data() + text_.size();
  if (failed() || begin == end || !is_digit(*begin)) return fail("no whole number of 0 or more");
  const auto [stop, status] = std::from_chars(begin, end, *out);
  if (status != std::errc()) return fail("number beyond 2^63");
  if (*begin == '0' && stop != begin + 1) return fail("number with a leading zero");
  if (stop != end && (*stop == '.' || *stop == 'e' || *stop == 'E'))
    return fail("number that is not whole");
  at_ += static_cast<size_t>(stop - begin);
  return true;
}

bool JsonCursor::read_whole_number(int64_t* out) {
  if (peek() != '0') return false;
  const size_t begin = at_;
  if (read_count(out)) return true;
  error_.clear();
  at_ = begin;
  return false;
}

bool JsonCursor::skip_number() {
  const auto digits = [this] {
    const size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > begin;
  };
  if (text_[at_] == '-') ++at_;
  const bool zero = at_ < text_.size() && text_[at_] == '0';
  const size_t begin = at_;
  if (!digits() || (zero && at_ != begin + 1)) return fail("wrong number");
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    if (!digits()) return fail("wrong number");
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    if (!digits()) return fail("wrong number");
  }
  return true;
}

bool JsonCursor::skip_literal() {
  for (const std::string_view word : {"true", "false", "null"})
    if (text_.substr(at_, word.size()) == word) {
      at_ += word.size();
      return true;
    }
  return fail("unknown word");
}

bool JsonCursor::skip_nested(int depth) {
  if (depth > kDepthMax) return fail("nested too deep");
  std::string scratch;
  switch (peek()) {
    case '"': return read_string(&scratch);
    case '0': return skip_number();
    case 't':
    case 'n': return skip_literal();
    case '{':
      enter_object();
      while (next_key(&scratch))
        if (!skip_nested(depth + 1)) return false;
      return !failed();
    case '[':
      enter_array();
      while (next_element())
        if (!skip_nested(depth + 1)) return false;
      return !failed();
    default: return fail("no value");
  }
}

bool JsonCursor::skip_value() { return skip_nested(1); }

bool JsonCursor::at_end() {
  skip_blanks();
  return !failed() && at_ == text_.size();
}

}  // namespace trine::checkpoint
