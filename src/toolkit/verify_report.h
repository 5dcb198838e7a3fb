// What a comparison found, and how it is told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace trine::toolkit {

/// Largest difference of two arrays, taken in pieces. NaN and infinity differ from everything.
struct Difference {
  double max_abs = 0;
  double reference_max = 0;       ///< largest |reference|
  int64_t where = -1;             ///< index (a token, a head, ...) of the largest difference
  double difference_squares = 0;  ///< sums of squares, for relative_norm()
  double reference_squares = 0;

  void add(std::span<const float> found, std::span<const float> reference, int64_t index);
  /// max_abs <= tolerance * max(1, reference_max).
  bool within(double tolerance) const;
  /// |found - reference| / |reference| in the Frobenius norm; 0 when both are zero.
  double relative_norm() const;
};

/// One layer, as far as the file shows it.
struct LayerComparison {
  int64_t layer = 0;  ///< 0-based, as in the checkpoint's names
  bool is_kda = false;
  bool has_output = false;
  Difference output;  ///< residual after the layer
  bool has_router = false;
  int64_t router_differs = 0;  ///< tokens whose sets of experts differ
  int64_t router_first = -1;   ///< the first of them
  bool has_memory = false;     ///< kda_state or mla_rows, by kind
  Difference memory;

  bool equal(double tolerance) const;
  std::string name() const;  ///< "layer 3 (KDA, layers.3)"
};

struct Comparison {
  double tolerance = 0;
  int64_t tokens = 0;
  std::string precision;
  std::string isa;
  Difference logits;
  int64_t top1_equal = 0;  ///< tokens with the same most likely next token
  double kl_sum = 0;       ///< KL(reference || found), nats, over tokens
  std::vector<LayerComparison> layers;
  std::vector<std::string> absent;  ///< tensors that the file does not have

  bool equal() const;
  /// Null when no layer differs.
  const LayerComparison* first_different() const;
  json::Value to_json() const;
  std::string to_text() const;
};

}  // namespace trine::toolkit
