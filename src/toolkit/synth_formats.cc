// Declared formats: index names first, then quantization_config.
#include "toolkit/synth_formats.h"

#include <filesystem>
#include <set>
#include <utility>

#include "base/try.h"
#include "checkpoint/quant_config.h"
#include "checkpoint/shard_index.h"
#include "platform/file.h"

namespace trine {
namespace {

constexpr int64_t kIndexBytesMax = int64_t{1} << 30;

LinearFormat scheme_format(const checkpoint::QuantScheme& scheme) {
  LinearFormat format;
  format.format = scheme.format;
  format.num_bits = scheme.num_bits;
  format.group_size = scheme.strategy == "group" ? scheme.group_size : 0;
  format.strategy = scheme.strategy;
  return format;
}

/// Names of modules that the index says have scales.
Result<std::set<std::string>> scaled_modules(const std::string& path) {
  TRINE_ASSIGN_OR_RETURN(const auto text, read_file(path, kIndexBytesMax));
  checkpoint::Findings findings;
  const checkpoint::ShardIndex index = checkpoint::parse_index(text, path, &findings);
  TRINE_RETURN_IF_ERROR(error_findings(findings));
  std::set<std::string> modules;
  for (const auto& entry : index.entries)
    for (const std::string_view suffix : {".weight_scale", ".weight_scale_inv"})
      if (entry.tensor.ends_with(suffix))
        modules.insert(entry.tensor.substr(0, entry.tensor.size() - suffix.size()));
  return modules;
}

}  // namespace

Result<FormatOf> declared_formats(const std::string& folder, const json::Value& root) {
  const json::Value* text = root.find("text_config");
  const json::Value* declared = text != nullptr ? text->find("quantization_config") : nullptr;
  if (declared == nullptr) declared = root.find("quantization_config");
  checkpoint::Findings findings;
  auto config = checkpoint::QuantConfig::parse(declared, "config.json", &findings);
  TRINE_RETURN_IF_ERROR(error_findings(findings));
  const std::string index = folder + "/model.safetensors.index.json";
  std::error_code ignored;
  const bool has_index = std::filesystem::exists(index, ignored);
  std::set<std::string> scaled;
  if (has_index) {
    TRINE_ASSIGN_OR_RETURN(scaled, scaled_modules(index));
  }
  return FormatOf([config = std::move(config), scaled = std::move(scaled),
                   has_index](const checkpoint::ExpectedTensor& tensor) {
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    const bool quantised =
        has_index ? scaled.contains(module) : tensor.role == checkpoint::Role::kExpert;
    const checkpoint::QuantScheme* scheme = quantised ? config.resolve(module, "Linear") : nullptr;
    return scheme != nullptr ? scheme_format(*scheme) : LinearFormat();
  });
}

Status error_findings(const checkpoint::Findings& findings) {
  if (!checkpoint::has_errors(findings)) return Status();
  std::string message = "the checkpoint contradicts itself:";
  for (const checkpoint::Finding& finding : findings)
    if (finding.severity == checkpoint::Severity::kError) message += "\n  " + finding.to_string();
  return Status(Code::kInvalidArgument, message);
}

}  // namespace trine
