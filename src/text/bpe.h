// Byte-pair merging by rank (spec section 9), n log n for any piece.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace trine {

/// Merges pieces one after another, reusing its memory. Not for several threads.
class BpeMerger {
 public:
  explicit BpeMerger(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// Appends the ids of one piece: its own rank if it is a token, else merge the adjacent pair of
  /// lowest rank, the leftmost of equals, until none is left.
  void append_ids(std::string_view piece, std::vector<int32_t>* ids);

 private:
  // A part of the piece, at the index of its first byte. Merged parts have bytes == 0.
  struct Part {
    uint32_t bytes = 0;
    uint32_t previous = 0;
  };
  struct Candidate {
    int32_t rank = 0;
    uint32_t at = 0;     // first byte of the left part
    uint32_t bytes = 0;  // of both; the candidate is stale when the parts no longer add up to it
  };

  void propose(std::string_view piece, uint32_t at);

  const Vocabulary& vocabulary_;
  std::vector<Part> parts_;
  std::vector<Candidate> heap_;
};

}  // namespace trine
