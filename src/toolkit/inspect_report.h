// Everything `inspect` found out, and its two forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "toolkit/checksums.h"
#include "toolkit/inspect_memory.h"
#include "toolkit/inspect_parameters.h"
#include "toolkit/inspect_support.h"
#include "toolkit/machine.h"

namespace trine {

struct Inspection {
  std::string folder;
  checkpoint::ModelConfig config;
  checkpoint::Findings findings;
  bool usable_config = false;  ///< false: only the findings mean anything
  bool has_weights = false;
  bool scales_scanned = false;
  bool int8_inputs = false;
  int64_t file_count = 0;  ///< shards
  int64_t file_bytes = 0;
  int64_t tensor_count = 0;
  ParameterCount parameters;
  std::optional<MemoryReport> memory;
  std::string memory_reason;  ///< why there is none
  std::optional<SupportTable> support;
  Machine machine;
  std::vector<std::string> not_checked;
  std::optional<std::vector<FileChecksum>> checksums;

  bool has_errors() const;
  bool only_environment() const;  ///< errors, all of which blame the system
};

/// docs/guide/inspect.md names the keys.
json::Value inspection_json(const Inspection& inspection);
std::string inspection_text(const Inspection& inspection);

/// The three parts in words: attention, residual, ffn.
std::string describe_attention(const checkpoint::ModelConfig& config);
std::string describe_residual(const checkpoint::ModelConfig& config);
std::string describe_ffn(const checkpoint::ModelConfig& config);

}  // namespace trine
