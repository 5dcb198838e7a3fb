// Values of a config that contradict each other, or that no machine could hold.
#pragma once

#include "checkpoint/config.h"
#include "checkpoint/config_reader.h"

namespace trine::checkpoint {

constexpr int64_t kLayersMax = 4'096;
constexpr int64_t kExpertsMax = 65'536;

/// Fills config->is_kda from the 1-based lists of linear_attn_config.
void read_layer_kinds(ConfigReader* linear_attn, ModelConfig* config);
/// All checks between values; `text` is the reader that the findings are reported through.
void check_config(const ModelConfig& config, ConfigReader* text);
/// More parameters than any real model; only for configs without errors.
bool size_is_absurd(const ModelConfig& config, double* parameters);

}  // namespace trine::checkpoint
