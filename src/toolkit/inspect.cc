// `trine inspect`: what a checkpoint is, whether it is whole, what it will cost and what trine does
// with it.
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/try.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/obstacle.h"
#include "engine/int8_inputs.h"
#include "engine/memory_plan.h"
#include "kernels/table.h"
#include "platform/cpu.h"
#include "platform/file.h"
#include "toolkit/inspect_report.h"
#include "toolkit/synth_formats.h"
#include "trine/tokenizer.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Finding;
using checkpoint::Severity;
using checkpoint::WeightCoding;

Finding error_finding(std::string kind, std::string file, std::string found, std::string expected,
                      std::string action) {
  Finding finding;
  finding.severity = Severity::kError;
  finding.kind = std::move(kind);
  finding.file = std::move(file);
  finding.found = std::move(found);
  finding.expected = std::move(expected);
  finding.action = std::move(action);
  return finding;
}

/// compressed-tensors name of the format that the routed experts are stored in.
std::string expert_format(const Checkpoint& source) {
  const checkpoint::ModelConfig& config = source.config();
  if (config.moe_layer_count() == 0) return "bf16";
  int64_t layer = 0;
  while (!config.is_moe(layer)) ++layer;
  const auto linear = source.linear(config.tensor_prefix() + "model.layers." +
                                    std::to_string(layer) + ".block_sparse_moe.experts.0.w1");
  if (!linear.ok())
    return config.layout == checkpoint::Layout::kK3 ? "mxfp4-pack-quantized" : "bf16";
  switch (linear->coding) {
    case WeightCoding::kPlain: return "bf16";
    case WeightCoding::kMxfp4: return "mxfp4-pack-quantized";
    case WeightCoding::kNvfp4: return "nvfp4-pack-quantized";
    case WeightCoding::kInt4:
    case WeightCoding::kInt8Packed: return "pack-quantized";
    case WeightCoding::kInt8: return "int-quantized";
    case WeightCoding::kFp8: return "float-quantized";
    case WeightCoding::kMxfp8: return "mxfp8-quantized";
  }
  return "bf16";
}

engine::PlanRequest plan_request(Isa isa, const Machine& machine) {
  engine::PlanRequest request;
  request.bf16_inputs = kernels::kernel_table(isa).bf16_inputs;
  request.threads = machine.threads;
  request.available_bytes = machine.memory.available_bytes;
  return request;
}

void add_checksums(Inspection* inspection) {
  auto sums = checksum_folder(inspection->folder);
  if (!sums.ok()) {
    inspection->findings.push_back(checkpoint::obstacle("", "", sums.status()));
    return;
  }
  for (const FileChecksum& file : *sums)
    if (!file.matches())
      inspection->findings.push_back(
          error_finding("checksum", file.name, "sha256 " + file.sha256,
                        "sha256 " + file.expected + " (its name in the cache)",
                        "the file is damaged: download it again"));
  inspection->checksums = std::move(*sums);
}

/// A tokenizer that cannot be loaded stops run and chat; an absent one is the audit's to name.
void check_tokenizer(Inspection* inspection) {
  constexpr const char* kRanks = "tiktoken.model";
  constexpr const char* kConfig = "tokenizer_config.json";
  const std::string folder = inspection->folder + "/";
  std::error_code error;
  if (!std::filesystem::exists(folder + kRanks, error) ||
      !std::filesystem::exists(folder + kConfig, error))
    return;
  for (const Finding& finding : inspection->findings)
    if (finding.severity == Severity::kError &&
        (finding.file == kRanks || finding.file == kConfig) && finding.kind != "tokenizer-vocab")
      return;  // the audit could not even read it
  const Status status = Tokenizer::load(inspection->folder).status();
  if (status.ok()) return;
  const std::string file = status.message().find(kConfig) != std::string::npos ? kConfig : kRanks;
  if (status.code() == Code::kIo)
    return inspection->findings.push_back(checkpoint::obstacle(file, folder + file, status));
  inspection->findings.push_back(error_finding("tokenizer", file, status.message(),
                                               "a tokenizer that loads",
                                               "download the tokenizer's files again"));
}

/// What could not be checked, said so.
void list_unchecked(const InspectOptions& options, Inspection* inspection) {
  auto& list = inspection->not_checked;
  if (!inspection->has_weights)
    list.emplace_back("weights: not downloaded yet, so shapes, types and scales were not seen");
  else if (!inspection->scales_scanned)
    list.emplace_back(options.scan ? "scales: not scanned" : "scales: not scanned (--no-scan)");
  if (!options.checksums)
    list.emplace_back("contents of the files: --checksums computes their sha256");
}

/// Parameters, memory and support need a config without contradictions.
Status fill_model(const Checkpoint& source, Isa isa, bool int8, Inspection* inspection) {
  TRINE_ASSIGN_OR_RETURN(inspection->parameters, count_parameters(source));
  const Checkpoint* weights_source = source.has_weights() ? &source : nullptr;
  auto weights = model::plan_weights(inspection->config, weights_source, int8);
  if (!weights.ok() && weights.status().code() == Code::kUnsupported)
    inspection->findings.push_back(
        error_finding("unsupported", "config.json", weights.status().message(),
                      "a model that this version can run", "use another release of the model"));
  if (!weights.ok() && weights_source != nullptr) {
    // Damaged shards: the release's formats give the size all the same.
    inspection->memory_reason = weights.status().message();
    weights = model::plan_weights(inspection->config, nullptr, int8);
  }
  if (!weights.ok()) {
    inspection->memory_reason = weights.status().message();
    return Status();
  }
  inspection->memory =
      report_memory(inspection->config, **weights, plan_request(isa, inspection->machine));
  inspection->support =
      check_support(inspection->config, **weights, expert_format(source), isa, int8);
  return Status();
}

InspectReport report_of(const Inspection& inspection) {
  InspectReport report;
  report.json = json::dump_pretty(inspection_json(inspection)) + "\n";
  report.text = inspection_text(inspection);
  report.has_errors = inspection.has_errors();
  report.only_environment = inspection.only_environment();
  return report;
}

/// config.json is no JSON: a finding like any other, and the only one there can be.
InspectReport report_of_damaged_config(const std::string& folder, Isa isa, const Status& status) {
  Inspection inspection;
  inspection.folder = folder;
  inspection.machine = describe_machine(isa);
  inspection.findings.push_back(error_finding("config-json", "config.json", status.message(),
                                              "a JSON object", "download this file again"));
  inspection.not_checked.emplace_back("weights: config.json does not say what they should be");
  return report_of(inspection);
}

}  // namespace

Result<InspectReport> inspect(const std::string& folder, const InspectOptions& options) {
  TRINE_ASSIGN_OR_RETURN(const Isa isa, choose_isa(options.isa));
  if (options.int8_inputs) TRINE_RETURN_IF_ERROR(engine::check_int8_inputs(isa));
  const auto opened = Checkpoint::open(folder, {.scan_scales = options.scan});
  if (opened.status().code() == Code::kCorrupt)
    return report_of_damaged_config(folder, isa, opened.status());
  TRINE_RETURN_IF_ERROR(opened.status());
  const Checkpoint& source = *opened;
  Inspection inspection;
  inspection.folder = folder;
  inspection.int8_inputs = options.int8_inputs;
  inspection.config = source.config();
  inspection.findings = source.findings();
  inspection.has_weights = source.has_weights();
  inspection.scales_scanned = source.scales_scanned();
  inspection.file_count = static_cast<int64_t>(source.files().size());
  for (const auto& file : source.files()) inspection.file_bytes += file.bytes;
  inspection.tensor_count = static_cast<int64_t>(source.tensors().size());
  inspection.machine = describe_machine(isa);
  inspection.usable_config = source.config_usable();
  if (inspection.usable_config) {
    if (const Status status = fill_model(source, isa, options.int8_inputs, &inspection);
        !status.ok())
      inspection.memory_reason = status.message();
  }
  check_tokenizer(&inspection);
  if (options.checksums) add_checksums(&inspection);
  list_unchecked(options, &inspection);
  return report_of(inspection);
}

}  // namespace trine
