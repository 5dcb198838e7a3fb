// Distributions of synthetic weights and the tables that turn random bits into codes of each
// format.
//
// The spreads keep activations near 1 through every layer, so that logits are finite and of a
// trained model's size, and the router's choices spread over the experts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/config.h"
#include "tensor/dtype.h"
#include "toolkit/synth_fill.h"

namespace trine {

struct SynthDistribution {
  double mean = 0;
  double spread = 1;
};

/// Of the float tensor `name` with `in` inputs (`vector`: it has one dimension).
SynthDistribution synth_distribution(const checkpoint::ModelConfig& config, std::string_view name,
                                     int64_t in, bool vector);

/// ln of the range of exp(A_log): 0.5 .. 4 with the bounded gate, 1 .. 16 with softplus.
constexpr double kALogBounded[2] = {-0.6931471805599453, 1.3862943611198906};
constexpr double kALogSoftplus[2] = {0.0, 2.772588722239781};

constexpr double kE2m1Spread = 2.0;        ///< nvfp4 codes
constexpr double kNvfp4ScaleMean = 128.0;  ///< e4m3 scales before the global scale

/// Power-of-two scale and spread of the codes so that code * scale has a given spread; scales
/// jitter by one binary place.
struct MxScale {
  int exponent = 127;  ///< E8M0 code
  double sigma = 2;    ///< in [1.6, 3.2)
};
MxScale mx_scale(double spread);

/// 256 equally likely codes. `spread` is the standard deviation of the codes; for E8M0 scales the
/// middle exponent code; for E4M3 scales the mean.
std::vector<uint8_t> synth_code_table(SynthRole role, double spread);

/// Appends the value in the bytes of a float type, rounded to nearest even.
void append_float(DType dtype, float value, std::vector<uint8_t>* out);

}  // namespace trine
