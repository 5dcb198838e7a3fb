// Cuts text into the pieces that byte-pair merging works on (spec section 9): first hard cuts of
// long texts and long runs, then the release's pattern, matched by hand in linear time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/unicode_classes.h"

namespace trine {

/// Text is cut every so many characters ...
constexpr size_t kChunkCharsMax = 400000;
/// ... and so that no run of white space, and none of anything else, is longer than this.
constexpr size_t kRunCharsMax = 25000;

/// Decoded characters of one chunk. Ill-formed UTF-8 counts as U+FFFD and keeps its bytes.
struct Chunk {
  std::string_view text;
  std::vector<uint8_t> classes;   ///< one per character
  std::vector<uint32_t> offsets;  ///< byte offset per character, and the end

  size_t size() const { return classes.size(); }
  std::string_view slice(size_t begin, size_t end) const {
    return text.substr(offsets[begin], offsets[end] - offsets[begin]);
  }
};

/// Decodes the first kChunkCharsMax characters of text; chunk->text is what they are made of.
void decode_chunk(const UnicodeClasses& classes, std::string_view text, Chunk* chunk);

/// Characters are numbered within the chunk. The end of the stretch that starts at `begin`.
size_t stretch_end(const Chunk& chunk, size_t begin);

/// The end of the pattern's match at `begin`, as if the text ended at `end`; always > begin.
size_t piece_end(const Chunk& chunk, size_t begin, size_t end);

}  // namespace trine
