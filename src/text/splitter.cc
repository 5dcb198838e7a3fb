// The split pattern, written as one function for each of its alternatives. Each answers the end of
// its match or kNone, with the meaning that a backtracking engine gives the alternative.
#include "text/splitter.h"

#include "text/utf8.h"

namespace trine {
namespace {

constexpr size_t kNone = SIZE_MAX;

struct Scan {
  const Chunk& chunk;
  size_t end;

  bool is(size_t at, int classes) const { return (chunk.classes[at] & classes) != 0; }
  // The end of the run of characters at `at` that have one of `classes`.
  size_t run(size_t at, int classes) const {
    while (at < end && is(at, classes)) ++at;
    return at;
  }
  // [^\r\n\p{L}\p{N}]
  bool is_word_prefix(size_t at) const { return !is(at, kNewline | kLetter | kNumber); }
  // [^\s\p{L}\p{N}]
  bool is_symbol(size_t at) const { return !is(at, kSpace | kLetter | kNumber); }
};

// (?i:'s|'t|'re|'ve|'m|'ll|'d)? ; case-insensitive 's' also is U+017F, the long s.
size_t skip_contraction(const Scan& scan, size_t at) {
  const auto lower = [&](size_t i) -> char {
    if (i >= scan.end) return 0;
    const std::string_view c = scan.chunk.slice(i, i + 1);
    if (c == "\xC5\xBF") return 's';
    if (c.size() != 1) return 0;
    return c[0] >= 'A' && c[0] <= 'Z' ? static_cast<char>(c[0] + 32) : c[0];
  };
  if (lower(at) != '\'') return at;
  const char first = lower(at + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  const char second = lower(at + 2);
  const bool is_pair =
      ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
  return is_pair ? at + 3 : at;
}

// U*L+ from `at`: U* is greedy, then gives back to the last character that is in both sets.
size_t lower_word(const Scan& scan, size_t at) {
  size_t k = at;
  size_t last_both = kNone;
  for (; k < scan.end && scan.is(k, kUpper); ++k)
    if (scan.is(k, kLower)) last_both = k;
  if (k < scan.end && scan.is(k, kLower)) return scan.run(k, kLower);
  return last_both == kNone ? kNone : last_both + 1;
}

// U+L* from `at`.
size_t upper_word(const Scan& scan, size_t at) {
  const size_t k = scan.run(at, kUpper);
  return k == at ? kNone : scan.run(k, kLower);
}

// One of the two word alternatives: P? word contraction?
size_t word(const Scan& scan, size_t at, size_t (*body)(const Scan&, size_t)) {
  size_t end = kNone;
  if (scan.is_word_prefix(at)) end = body(scan, at + 1);
  if (end == kNone) end = body(scan, at);
  return end == kNone ? kNone : skip_contraction(scan, end);
}

// \p{N}{1,3}
size_t number(const Scan& scan, size_t at) {
  size_t k = at;
  while (k < scan.end && k < at + 3 && scan.is(k, kNumber)) ++k;
  return k == at ? kNone : k;
}

// ` ?[^\s\p{L}\p{N}]+[\r\n]*`
size_t symbols(const Scan& scan, size_t at) {
  const size_t first = scan.chunk.slice(at, at + 1) == " " ? at + 1 : at;
  size_t k = first;
  while (k < scan.end && scan.is_symbol(k)) ++k;
  return k == first ? kNone : scan.run(k, kNewline);
}

// \s*[\r\n]+ | \s+(?!\S) | \s+
size_t blanks(const Scan& scan, size_t at) {
  const size_t run_end = scan.run(at, kSpace);
  if (run_end == at) return kNone;
  for (size_t k = run_end; k > at; --k)
    if (scan.is(k - 1, kNewline)) return k;
  if (run_end == scan.end || run_end == at + 1) return run_end;
  return run_end - 1;  // the last blank belongs to what follows
}

}  // namespace

void decode_chunk(const UnicodeClasses& classes, std::string_view text, Chunk* chunk) {
  chunk->classes.clear();
  chunk->offsets.clear();
  size_t at = 0;
  while (at < text.size() && chunk->size() < kChunkCharsMax) {
    const Utf8Char c = decode_utf8(text, at);
    chunk->classes.push_back(classes.of(c.code));
    chunk->offsets.push_back(static_cast<uint32_t>(at));
    at += c.bytes;
  }
  chunk->offsets.push_back(static_cast<uint32_t>(at));
  chunk->text = text.substr(0, at);
}

size_t stretch_end(const Chunk& chunk, size_t begin) {
  size_t run = 0;
  int kind = chunk.classes[begin] & kRunSpace;
  for (size_t i = begin; i < chunk.size(); ++i) {
    const int now = chunk.classes[i] & kRunSpace;
    if (now != kind) {
      kind = now;
      run = 1;
    } else if (++run > kRunCharsMax) {
      return i;
    }
  }
  return chunk.size();
}

size_t piece_end(const Chunk& chunk, size_t begin, size_t end) {
  const Scan scan{chunk, end};
  if (scan.is(begin, kHan)) return scan.run(begin, kHan);
  if (const size_t e = word(scan, begin, lower_word); e != kNone) return e;
  if (const size_t e = word(scan, begin, upper_word); e != kNone) return e;
  if (const size_t e = number(scan, begin); e != kNone) return e;
  if (const size_t e = symbols(scan, begin); e != kNone) return e;
  return blanks(scan, begin);
}

}  // namespace trine
