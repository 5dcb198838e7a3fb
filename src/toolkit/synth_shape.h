// What `synth` is asked for: a preset with overrides, resolved to the config of a release.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "trine/status.h"

namespace trine {

/// How a linear module is stored (spec section 8; compressed-tensors).
struct LinearFormat {
  std::string format = "bf16";  ///< "bf16" or a compressed-tensors format
  int64_t num_bits = 4;         ///< pack-quantized: 4 or 8
  int64_t group_size = 32;      ///< pack-quantized: 32, 64, 128; 0 = one scale per output
  std::string strategy =
      "channel";  ///< float-quantized: "channel", "tensor" or "block" (128 x 128)
};

struct SynthShape {
  json::Value config;             ///< config.json
  json::Value generation_config;  ///< generation_config.json
  LinearFormat experts;
};

/// Resolves {"preset": NAME, "expert_format": ..., overrides of text config keys}. Errors:
/// kInvalidArgument naming the key.
Result<SynthShape> resolve_shape(const std::string& shape_json);

/// Names of the presets, comma separated.
std::string preset_names();

}  // namespace trine
