// A tiny twin of the model through the whole engine: alone, batched, and in other chunks.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "base/try.h"
#include "toolkit/bench_run.h"
#include "toolkit/self_check.h"
#include "trine/model.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

using checkpoint::ModelConfig;

constexpr int64_t kSteps = 20;
constexpr int64_t kPrompts[3] = {150, 70, 1};  // three pages, two, one

/// A folder that goes away.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string pattern =
        std::filesystem::temp_directory_path(error).string() + "/trine-check-XXXXXX";
    if (!error && ::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The shape of the twin: the mechanisms of the model at the sizes of the tiny presets.
std::string twin_shape(const ModelConfig& c, const std::string& expert_format) {
  const bool k3 = c.layout == checkpoint::Layout::kK3;
  json::Value shape = json::Value::object();
  shape.set("preset", k3 ? "tiny" : "tiny-linear");
  shape.set("use_full_rank_gate", c.use_full_rank_gate);
  shape.set("gate_lower_bound", c.gate_lower_bound
                                    ? json::Value(static_cast<double>(*c.gate_lower_bound))
                                    : json::Value());
  shape.set("short_conv_kernel_size", c.short_conv_kernel_size);
  shape.set("q_lora_rank", c.q_lora_rank ? json::Value(24) : json::Value());
  shape.set("mla_use_output_gate", c.mla_use_output_gate);
  shape.set("attn_res_block_size", c.attn_res_block_size ? json::Value(2) : json::Value());
  shape.set("routed_expert_hidden_size",
            c.routed_expert_hidden_size ? json::Value(32) : json::Value());
  shape.set("latent_moe_use_norm", c.latent_moe_use_norm);
  shape.set("num_shared_experts", std::min<int64_t>(c.num_shared_experts, 2));
  shape.set("moe_renormalize", c.moe_renormalize);
  shape.set("routed_scaling_factor", static_cast<double>(c.routed_scaling_factor));
  const bool softmax = c.router_activation == checkpoint::RouterActivation::kSoftmax;
  shape.set("moe_router_activation_func", softmax ? "softmax" : "sigmoid");
  if (c.num_expert_group > 1 && c.topk_group < c.num_expert_group) {
    shape.set("num_expert_group", 2);
    shape.set("topk_group", 1);
  }
  const bool situ = c.hidden_act == checkpoint::Activation::kSitu;
  shape.set("hidden_act", situ ? "situ" : "silu");
  if (situ) {
    shape.set("activation_situ_beta", static_cast<double>(c.activation_situ_beta));
    if (c.activation_situ_linear_beta)
      shape.set("activation_situ_linear_beta", static_cast<double>(*c.activation_situ_linear_beta));
  }
  if (c.num_experts == 0) shape.set("first_k_dense_replace", 5);
  if (c.mla_layer_count() == 0) shape.set("full_attn_layers", json::Value::array());
  if (c.kda_layer_count() == 0) {
    json::Value all = json::Value::array();
    for (int i = 1; i <= 5; ++i) all.push(i);
    shape.set("full_attn_layers", std::move(all));
  }
  shape.set("expert_format", expert_format);
  return json::dump(shape);
}

Result<Model> load_twin(const std::string& folder, Isa isa, bool int8_inputs, int64_t chunk) {
  LoadOptions options;
  options.isa = isa_name(isa);
  options.int8_inputs = int8_inputs;
  options.context = 256;
  options.sequences = 3;
  options.prefill_chunk = chunk;
  return Model::load(folder, options);
}

Result<Sequence> prefilled(const Model& model, int64_t b) {
  TRINE_ASSIGN_OR_RETURN(auto sequence, model.new_sequence());
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < kPrompts[b]; ++i) prompt.push_back(bench_id(b, i, model.vocab_size()));
  TRINE_RETURN_IF_ERROR(sequence.prefill(prompt).status());
  return sequence;
}

/// Logits of all steps of each of the three sequences, decoded alone.
Result<std::vector<float>> alone(const Model& model) {
  std::vector<float> all;
  for (int64_t b = 0; b < 3; ++b) {
    TRINE_ASSIGN_OR_RETURN(auto sequence, prefilled(model, b));
    for (int64_t step = 0; step < kSteps; ++step) {
      TRINE_ASSIGN_OR_RETURN(const auto logits,
                             sequence.decode(bench_id(b, kPrompts[b] + step, model.vocab_size())));
      all.insert(all.end(), logits.begin(), logits.end());
    }
  }
  return all;
}

/// The same, all three in one batch at every step.
Result<std::vector<float>> batched(const Model& model) {
  std::vector<Sequence> sequences;
  for (int64_t b = 0; b < 3; ++b) {
    TRINE_ASSIGN_OR_RETURN(auto sequence, prefilled(model, b));
    sequences.push_back(std::move(sequence));
  }
  const std::vector<Sequence*> batch{&sequences[0], &sequences[1], &sequences[2]};
  const int64_t vocab = model.vocab_size();
  std::vector<float> all(static_cast<size_t>(3 * kSteps * vocab));
  std::vector<float> logits;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < 3; ++b) ids.push_back(bench_id(b, kPrompts[b] + step, vocab));
    TRINE_RETURN_IF_ERROR(model.decode_batch(batch, ids, &logits));
    for (int64_t b = 0; b < 3; ++b)
      std::copy_n(logits.begin() + b * vocab, vocab, all.begin() + (b * kSteps + step) * vocab);
  }
  return all;
}

Status run(const ModelConfig& config, const std::string& expert_format, Isa isa, bool int8_inputs) {
  const ScratchFolder scratch;
  if (scratch.path().empty()) return Status(Code::kIo, "no temporary folder for the twin");
  SynthOptions options;
  options.shape_json = twin_shape(config, expert_format);
  options.out = scratch.path() + "/twin";
  TRINE_RETURN_IF_ERROR(synth(options));
  TRINE_ASSIGN_OR_RETURN(const auto model, load_twin(options.out, isa, int8_inputs, 64));
  TRINE_ASSIGN_OR_RETURN(const auto reference, alone(model));
  TRINE_ASSIGN_OR_RETURN(const auto together, batched(model));
  TRINE_ASSIGN_OR_RETURN(const auto other, load_twin(options.out, isa, int8_inputs, 128));
  TRINE_ASSIGN_OR_RETURN(const auto chunked, alone(other));
  const auto same = [&](const std::vector<float>& x) {
    return x.size() == reference.size() &&
           std::memcmp(x.data(), reference.data(), x.size() * 4) == 0;
  };
  if (!same(together)) return Status(Code::kInternal, "a batch changes the logits");
  if (!same(chunked)) return Status(Code::kInternal, "the prefill chunk changes the logits");
  return Status();
}

}  // namespace

SelfCheck check_batching(const ModelConfig& config, const std::string& expert_format, Isa isa,
                         bool int8_inputs) {
  SelfCheck check;
  check.level = isa_name(isa);
  const Status status = run(config, expert_format, isa, int8_inputs);
  check.passed = status.ok();
  check.detail = status.ok()
                     ? "a tiny twin: 3 sequences alone, batched and in other chunks, same bits"
                     : status.message();
  return check;
}

}  // namespace trine
