// What a tensor's name says about its part of the model, and features that only names can betray.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "checkpoint/config.h"

namespace trine::checkpoint {

/// Norms and projections of attention residuals.
bool is_residual_name(std::string_view name);
bool is_vision_name(std::string_view name);
/// Layers of multi-token prediction that the config declares.
bool is_mtp_name(const ModelConfig& config, std::string_view name);
/// Belongs to other uses of a checkpoint and changes nothing here (activation scales, RoPE tables).
bool is_ignorable_name(std::string_view name);

/// What the names of a checkpoint show, whatever its config says.
struct FeatureNames {
  bool vision = false;
  int64_t residual_count = 0;
  std::string residual_example;
  void see(std::string_view name);
};
/// A feature with tensors that config.json does not declare, and the reverse (users.md row 1).
void check_features(const ModelConfig& config, const FeatureNames& names, Findings* findings);

}  // namespace trine::checkpoint
