#include "checkpoint/tensor_names.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace trine::checkpoint {

bool is_residual_name(std::string_view name) {
  return name.ends_with("_res_norm.weight") || name.ends_with("_res_proj.weight");
}

bool is_vision_name(std::string_view name) {
  return name.starts_with("vision_tower.") || name.starts_with("mm_projector.");
}

bool is_mtp_name(const ModelConfig& config, std::string_view name) {
  if (config.num_nextn_predict_layers == 0) return false;
  const std::string layers = config.tensor_prefix() + "model.layers.";
  if (!name.starts_with(layers)) return name.find("mtp.") != std::string_view::npos;
  name.remove_prefix(layers.size());
  int64_t layer = -1;
  std::from_chars(name.data(), name.data() + name.size(), layer);
  return layer >= config.num_hidden_layers &&
         layer < config.num_hidden_layers + config.num_nextn_predict_layers;
}

bool is_ignorable_name(std::string_view name) {
  constexpr std::array<std::string_view, 8> kSuffixes{
      ".input_scale", ".input_zero_point", ".input_global_scale", ".output_scale", ".k_scale",
      ".v_scale",     ".q_scale",          "rotary_emb.inv_freq"};
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [name](std::string_view suffix) { return name.ends_with(suffix); });
}

void FeatureNames::see(std::string_view name) {
  vision = vision || is_vision_name(name);
  if (is_residual_name(name) && residual_count++ == 0) residual_example = std::string(name);
}

void check_features(const ModelConfig& config, const FeatureNames& names, Findings* findings) {
  const auto add = [&](Severity severity, const char* kind, std::string key, std::string found,
                       std::string expected, std::string action) {
    add_finding(findings, {.severity = severity,
                           .kind = kind,
                           .file = "config.json",
                           .tensor = std::move(key),
                           .found = std::move(found),
                           .expected = std::move(expected),
                           .action = std::move(action)});
  };
  const std::string key =
      (config.layout == Layout::kK3 ? "text_config." : "") + std::string("attn_res_block_size");
  const bool residual = names.residual_count > 0;
  if (residual && !config.attn_res_block_size)
    add(Severity::kError, "feature-undeclared", key,
        "nothing, while " + std::to_string(names.residual_count) +
            " tensors of attention residuals exist (" + names.residual_example + ", ...)",
        "the block size that these tensors were trained with",
        "set " + key + " in config.json (look for a misspelt key)");
  if (!residual && config.attn_res_block_size)
    add(Severity::kError, "feature-without-tensors", key,
        std::to_string(*config.attn_res_block_size) +
            ", while no tensor *_res_norm.weight or *_res_proj.weight exists",
        "the tensors of attention residuals in every layer",
        "take config.json and weights from the same release");
  if (names.vision && !config.has_vision)
    add(Severity::kError, "feature-undeclared", "vision_config",
        "nothing, while vision_tower.* or mm_projector.* exist", "the vision tower's sizes",
        "take config.json and weights from the same release");
  if (!names.vision && config.has_vision)
    add(Severity::kNote, "vision-absent", "vision_config", "a vision tower without tensors",
        "vision_tower.* and mm_projector.*", "the text model runs without them");
}

}  // namespace trine::checkpoint
