#include "checkpoint/quant_config.h"

#include <algorithm>
#include <array>

#include "checkpoint/quant_rules.h"

namespace trine::checkpoint {
namespace {

constexpr const char* kRoot = "quantization_config";
constexpr std::array<std::string_view, 8> kFormats{
    "dense",           "mxfp4-pack-quantized", "nvfp4-pack-quantized", "pack-quantized",
    "float-quantized", "int-quantized",        "naive-quantized",      "mxfp8-quantized"};

std::string text_of(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

int64_t count_of(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  int64_t n = 0;
  return value != nullptr && value->to_int64(&n) && n > 0 ? n : 0;
}

void read_blocks(const json::Value* list, QuantScheme* scheme) {
  if (list == nullptr || !list->is_array() || list->as_array().size() != 2) return;
  const auto& pair = list->as_array();
  if (!pair[0].to_int64(&scheme->block_out) || !pair[1].to_int64(&scheme->block_in)) return;
  if (scheme->block_out <= 0 || scheme->block_in <= 0) scheme->block_out = scheme->block_in = 0;
}

// A pattern that cannot be compiled matches nothing: names decide anyway, so it is only a note.
ModuleMatcher make_matcher(const std::string& text, const std::string& key, const std::string& file,
                           Findings* findings) {
  ModuleMatcher matcher{text, std::nullopt};
  if (!text.starts_with("re:")) return matcher;
  Result<Pattern> pattern = Pattern::compile(std::string_view(text).substr(3));
  if (pattern.ok()) {
    matcher.pattern = std::move(*pattern);
  } else {
    add_finding(findings, {.severity = Severity::kNote,
                           .kind = "pattern-unsupported",
                           .file = file,
                           .tensor = key,
                           .found = pattern.status().message(),
                           .expected = "a regular expression without look-around",
                           .action = "it is taken to match nothing; tensor names decide"});
  }
  return matcher;
}

// Rotated or sparse weights: reading them as they are would give a wrong model.
void refuse_other_compression(const json::Value& root, const std::string& file,
                              Findings* findings) {
  const json::Value* transform = root.find("transform_config");
  const json::Value* groups = transform != nullptr ? transform->find("config_groups") : nullptr;
  const json::Value* sparsity = root.find("sparsity_config");
  const std::string sparse = sparsity != nullptr ? text_of(*sparsity, "format") : "";
  const bool rotated = groups != nullptr && groups->is_object() && !groups->as_object().empty();
  const auto refuse = [&](const char* key, std::string found, const char* expected) {
    add_finding(findings, {.kind = "feature-unsupported",
                           .file = file,
                           .tensor = std::string(kRoot) + "." + key,
                           .found = std::move(found),
                           .expected = expected,
                           .action = "use a checkpoint that is quantised only"});
  };
  if (rotated)
    refuse("transform_config", "weights to be transformed while running", "no transforms");
  if (!sparse.empty() && sparse != "dense")
    refuse("sparsity_config.format", json::quote(sparse), "\"dense\"");
}

}  // namespace

void QuantConfig::add_targets(const json::Value* list, const std::string& key,
                              const std::string& file, Findings* findings) {
  if (list == nullptr || !list->is_array()) return;
  for (const json::Value& item : list->as_array())
    if (item.is_string())
      targets_.push_back(
          {make_matcher(item.as_string(), key, file, findings), schemes_.size() - 1});
}

void QuantConfig::parse_group(const std::string& name, const json::Value& value,
                              const std::string& file, Findings* findings) {
  const std::string key = std::string(kRoot) + ".config_groups." + name;
  QuantScheme scheme;
  scheme.group = name;
  scheme.format = text_of(value, "format");
  if (scheme.format.empty()) scheme.format = default_format_;
  if (const json::Value* weights = value.find("weights");
      weights != nullptr && weights->is_object()) {
    scheme.num_bits = count_of(*weights, "num_bits");
    scheme.type = text_of(*weights, "type");
    scheme.strategy = text_of(*weights, "strategy");
    scheme.group_size = count_of(*weights, "group_size");
    const json::Value* symmetric = weights->find("symmetric");
    scheme.symmetric = symmetric == nullptr || !symmetric->is_bool() || symmetric->as_bool();
    read_blocks(weights->find("block_structure"), &scheme);
    scheme.consistent = check_group_fields(scheme, *weights, key + ".weights", file, findings);
  }
  if (std::find(kFormats.begin(), kFormats.end(), scheme.format) == kFormats.end())
    add_finding(findings,
                {.kind = "format-unsupported",
                 .file = file,
                 .tensor = key + ".format",
                 .found = json::quote(scheme.format),
                 .expected = "mxfp4-, nvfp4-pack-, pack-, float-, int-, mxfp8-quantized or dense",
                 .action = "convert the checkpoint to one of these formats"});
  schemes_.push_back(std::move(scheme));
  add_targets(value.find("targets"), key + ".targets", file, findings);
}

void QuantConfig::parse_deepseek(const json::Value& value) {
  QuantScheme scheme;
  scheme.group = "fp8";
  scheme.format = "float-quantized";
  scheme.num_bits = 8;
  scheme.type = "float";
  read_blocks(value.find("weight_block_size"), &scheme);
  if (scheme.block_out > 0) scheme.strategy = "block";
  schemes_.push_back(std::move(scheme));
  targets_.push_back({{"Linear", std::nullopt}, 0});
  if (const json::Value* skip = value.find("modules_to_not_convert");
      skip != nullptr && skip->is_array())
    for (const json::Value& item : skip->as_array())
      if (item.is_string()) ignore_.push_back({item.as_string(), std::nullopt});
}

QuantConfig QuantConfig::parse(const json::Value* value, const std::string& file,
                               Findings* findings) {
  QuantConfig config;
  if (value == nullptr || value->is_null()) return config;
  const auto refuse = [&](const std::string& key, std::string found, std::string expected) {
    add_finding(findings, {.kind = "quantization-config",
                           .file = file,
                           .tensor = key,
                           .found = std::move(found),
                           .expected = std::move(expected),
                           .action = "take config.json from the release of these weights"});
  };
  if (!value->is_object()) {
    refuse(kRoot, "no object", "an object");
    return config;
  }
  config.present_ = true;
  const std::string method = text_of(*value, "quant_method");
  if (method == "fp8") {
    config.parse_deepseek(*value);
    return config;
  }
  if (method != "compressed-tensors") {
    refuse(std::string(kRoot) + ".quant_method", json::quote(method),
           "\"compressed-tensors\" or \"fp8\"");
    return config;
  }
  refuse_other_compression(*value, file, findings);
  config.default_format_ = text_of(*value, "format");
  const json::Value* groups = value->find("config_groups");
  if (groups != nullptr && groups->is_object()) {
    for (const auto& [name, group] : groups->as_object())
      config.parse_group(name, group, file, findings);
  } else {
    refuse(std::string(kRoot) + ".config_groups", "none", "an object of groups");
  }
  if (const json::Value* ignore = value->find("ignore"); ignore != nullptr && ignore->is_array())
    for (const json::Value& item : ignore->as_array())
      if (item.is_string())
        config.ignore_.push_back(
            make_matcher(item.as_string(), std::string(kRoot) + ".ignore", file, findings));
  std::stable_sort(config.targets_.begin(), config.targets_.end(),
                   [](const Target& a, const Target& b) {
                     return a.matcher.text.starts_with("re:") < b.matcher.text.starts_with("re:");
                   });
  return config;
}

const QuantScheme* QuantConfig::resolve(std::string_view module,
                                        std::string_view module_class) const {
  for (const ModuleMatcher& matcher : ignore_)
    if (matcher.match(module) || matcher.text == module_class) return nullptr;
  for (const std::string_view name : {module, module_class})
    for (const Target& target : targets_)
      if (target.matcher.match(name)) return &schemes_[target.scheme];
  return nullptr;
}

}  // namespace trine::checkpoint
