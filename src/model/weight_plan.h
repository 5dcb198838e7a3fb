// What plan_weights laid out and load_weights has to read (private to the two).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/packed_linear.h"
#include "model/weights.h"

namespace trine::model {

/// A small vector kept as floats.
struct FloatItem {
  enum class Kind {
    kPlain,    ///< as stored
    kExp,      ///< exp of the first `count` elements (A_log may be padded)
    kTaps,     ///< [channels, 1, taps] turned to [taps][channels]
    kProduct,  ///< elementwise product of two tensors
  };
  Kind kind = Kind::kPlain;
  std::string name;
  std::string second;  ///< kProduct
  int64_t count = 0;
  int64_t taps = 1;    ///< kTaps
  int64_t offset = 0;  ///< into the arena
  const float** target = nullptr;
};

struct WeightSet::Plan {
  std::vector<PackItem> matrices;
  std::vector<FloatItem> vectors;
  checkpoint::Linear embedding;
  bool embedding_by_value = false;
  int64_t embedding_offset = 0;
};

}  // namespace trine::model
