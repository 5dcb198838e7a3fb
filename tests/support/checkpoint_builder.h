// Random checkpoints of any config and any coding, and damaged ones: a small writer of safetensors
// and config.json that shares no code with the reader.
//
//   CheckpointBuilder builder(small_k3_config());
//   builder.choose([](const ExpectedTensor& t) { return t.role == Role::kExpert ? int4(32) :
//   bf16(); }); builder.build(); builder.tensors().erase("lm_head.weight");       // whatever a
//   test wants to break builder.write(folder);
//   builder.values("language_model.model.layers.1.self_attn.q_proj");   // what the weights mean
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/expected.h"
#include "support/module_coding.h"

namespace trine::testing {

/// Configs of a few layers: KDA and MLA, dense and MoE; latent not hidden/2, heads that differ.
json::Value small_k3_config();
json::Value small_linear_config();

class CheckpointBuilder {
 public:
  using Choice = std::function<ModuleCoding(const checkpoint::ExpectedTensor&)>;

  explicit CheckpointBuilder(json::Value config, uint64_t seed = 1);
  /// The coding of each module that may be quantised; bf16 unless chosen.
  CheckpointBuilder& choose(Choice choice);
  /// Makes all tensors and a quantization_config that describes them.
  CheckpointBuilder& build();

  json::Value& config() { return config_; }
  /// text_config, or the config itself when it is flat.
  json::Value& text_config();
  checkpoint::ModelConfig parsed_config() const;
  RawTensors& tensors() { return tensors_; }
  /// Row-major floats that a module ("...q_proj") or another tensor ("...A_log") stands for.
  const std::vector<float>& values(const std::string& name) const { return values_.at(name); }

  /// config.json, generation_config.json, shards and index (for more than one shard).
  void write(const std::string& folder, int shards = 1) const;

 private:
  void add_module(const std::string& module, int64_t out, int64_t in, const ModuleCoding& coding);
  void describe_codings();

  json::Value config_;
  TestRandom random_;
  Choice choice_;
  RawTensors tensors_;
  std::map<std::string, std::vector<float>> values_;
  std::map<std::string, std::vector<std::string>>
      modules_of_format_;  ///< quantization_config groups
};

}  // namespace trine::testing
