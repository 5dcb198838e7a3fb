// Sets of Unicode scalar values, and their UTF-8 as edges of a rule.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/program.h"

namespace trine::grammar {

constexpr uint32_t kCharMax = 0x10FFFF;

struct CharRange {
  uint32_t low, high;
  bool operator==(const CharRange&) const = default;
};

/// Sorted ranges that neither touch nor overlap; surrogates are never inside.
class CharSet {
 public:
  CharSet() = default;
  static CharSet all();
  static CharSet of(std::string_view ascii);

  CharSet& add(uint32_t low, uint32_t high);
  CharSet& add(const CharSet& other);
  CharSet complement() const;
  CharSet intersect(const CharSet& other) const;
  bool contains(uint32_t c) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<CharRange>& ranges() const { return ranges_; }

 private:
  std::vector<CharRange> ranges_;
};

/// Edges that read one character and lead to `to`; what several ranges end with is shared.
class CharEdges {
 public:
  CharEdges(ProgramBuilder* builder, int32_t to) : builder_(*builder), to_(to) {}
  void add(int32_t from, const CharSet& set);
  void add(int32_t from, uint32_t low, uint32_t high);

 private:
  void add_bytes(int32_t from, const std::string& low, const std::string& high, size_t at);
  int32_t tail(size_t bytes);

  ProgramBuilder& builder_;
  const int32_t to_;
  std::array<int32_t, 4> tails_ = {-1, -1, -1, -1};  // states that read n more bytes 80..BF
};

/// The character's UTF-8 (c is a scalar value).
std::string utf8_of(uint32_t c);
/// Reads one character at *at and moves behind it; false if the bytes are no UTF-8 there.
bool next_utf8(std::string_view text, size_t* at, uint32_t* c);
/// All characters; false if the text is no UTF-8.
bool decode_utf8(std::string_view text, std::vector<uint32_t>* chars);

}  // namespace trine::grammar
