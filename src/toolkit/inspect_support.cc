// Rows of the support table from the config, the packed formats and the self-checks.
#include "toolkit/inspect_support.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "toolkit/self_check.h"

namespace trine {
namespace {

using checkpoint::ModelConfig;
using model::PackedLinear;
using State = SupportCell::State;
using Formats = std::set<PackedFormat>;

PackedFormat format_of(const PackedLinear& w) {
  PackedFormat format;
  format.format = w.view.format;
  format.scale = w.view.scale_kind;
  // Inputs of the int8 path have groups even where a row is shorter than one.
  const bool grouped = w.view.scale_kind != kernels::ScaleKind::kNone &&
                       (w.view.int8_inputs || w.view.group < w.view.k_padded);
  format.group = grouped ? w.view.group : 0;
  format.int8_inputs = w.view.int8_inputs;
  return format;
}

void collect(std::initializer_list<const PackedLinear*> matrices, Formats* formats) {
  for (const PackedLinear* w : matrices)
    if (!w->empty()) formats->insert(format_of(*w));
}

struct ModelFormats {
  Formats kda, mla, moe, mlp, lm_head;
  Formats all() const {
    Formats union_set;
    for (const Formats* part : {&kda, &mla, &moe, &mlp, &lm_head})
      union_set.insert(part->begin(), part->end());
    return union_set;
  }
};

ModelFormats collect_formats(const model::WeightSet& weights) {
  ModelFormats formats;
  for (const model::LayerWeights& layer : weights.layers) {
    if (const auto* w = std::get_if<model::KdaWeights>(&layer.attention))
      collect({&w->q_proj, &w->k_proj, &w->v_proj, &w->f_a_proj, &w->f_b_proj, &w->b_proj,
               &w->g_proj, &w->g_a_proj, &w->g_b_proj, &w->o_proj},
              &formats.kda);
    if (const auto* w = std::get_if<model::MlaWeights>(&layer.attention))
      collect({&w->q_proj, &w->q_a_proj, &w->q_b_proj, &w->kv_a_proj_with_mqa, &w->k_absorbed,
               &w->v_up, &w->g_proj, &w->o_proj},
              &formats.mla);
    if (const auto* w = std::get_if<model::MlpWeights>(&layer.ffn))
      collect({&w->gate_proj, &w->up_proj, &w->down_proj}, &formats.mlp);
    if (const auto* w = std::get_if<model::MoeWeights>(&layer.ffn)) {
      collect(
          {&w->gate, &w->routed_expert_down_proj, &w->routed_expert_up_proj,
           &w->shared_experts.gate_proj, &w->shared_experts.up_proj, &w->shared_experts.down_proj},
          &formats.moe);
      for (const model::MlpWeights& expert : w->experts)
        collect({&expert.gate_proj, &expert.up_proj, &expert.down_proj}, &formats.moe);
    }
  }
  collect({&weights.lm_head}, &formats.lm_head);
  return formats;
}

SupportCell cell(const SelfCheck& check, const std::string& by) {
  SupportCell result;
  result.state = check.passed ? State::kYes : State::kFailed;
  result.by = by;
  result.check = check.detail;
  result.error = check.error;
  return result;
}

SupportCell not_needed(const std::string& why) {
  SupportCell result;
  result.state = State::kNotNeeded;
  result.check = why;
  return result;
}

/// Builds rows; the checks of formats and of the twin run once and back several rows.
class TableBuilder {
 public:
  TableBuilder(const ModelConfig& config, const model::WeightSet& weights,
               const std::string& expert_format, Isa isa, bool int8_inputs)
      : config_(config),
        isa_(isa),
        formats_(collect_formats(weights)),
        batching_(check_batching(config, expert_format, isa, int8_inputs)) {
    for (const PackedFormat& format : formats_.all())
      checks_.emplace_back(format, check_format(format, isa));
  }

  SupportTable build() {
    if (config_.kda_layer_count() > 0)
      add_operator(config_.gate_lower_bound ? "KDA, bounded gate" : "KDA, softplus gate", "kda",
                   check_kda(config_, isa_), quantised(formats_.kda));
    if (config_.mla_layer_count() > 0)
      add_operator(config_.mla_use_output_gate ? "gated MLA, absorbed" : "MLA, absorbed", "mla",
                   check_mla(config_, isa_), quantised(formats_.mla));
    if (config_.attn_res_block_size)
      add_operator("AttnRes", "attn_res", check_attn_res(config_, isa_),
                   not_needed("vectors of the hidden size, kept in fp32"));
    if (config_.moe_layer_count() > 0)
      add_operator(config_.routed_expert_hidden_size ? "LatentMoE" : "MoE", "router",
                   check_router(config_, isa_), quantised(formats_.moe));
    const bool situ = config_.hidden_act == checkpoint::Activation::kSitu;
    add_operator(situ ? "SiTU" : "SiLU", situ ? "situ" : "silu_mul",
                 check_activation(config_, isa_), not_needed("no weights"));
    for (const auto& [format, check] : checks_) add_format(format, check);
    if (config_.has_vision) add_vision();
    table_.notes.emplace_back(
        "batching is decode_batch over any sequences, the latent cache has pages of 64 rows");
    table_.notes.emplace_back(
        "a scheduler that admits requests, and a server, are not part of this version");
    return std::move(table_);
  }

 private:
  void add_operator(const std::string& feature, const std::string& kernel,
                    const OperatorCheck& check, SupportCell quantised_cell) {
    SupportRow row;
    row.feature = feature;
    row.operators = cell(check.specification, kernel);
    row.batching = cell(batching_, "decode_batch");
    row.quantised = std::move(quantised_cell);
    row.tuned = tuned(check.twin, kernel);
    table_.rows.push_back(std::move(row));
  }

  /// Tuned: the kernel of the level in use, or of a level below it that has one of its own.
  SupportCell tuned(const SelfCheck& twin, const std::string& kernel) const {
    SupportCell result = cell(twin, twin.level + " " + kernel);
    result.check += ", against the scalar kernel";
    if (isa_ != Isa::kScalar && twin.level == isa_name(Isa::kScalar)) result.state = State::kNo;
    return result;
  }

  SupportCell quantised(const Formats& formats) const {
    SupportCell result;
    result.state = State::kYes;
    for (const auto& [format, check] : checks_) {
      if (formats.count(format) == 0) continue;
      result.by += (result.by.empty() ? "" : ", ") + format_label(format);
      result.error = std::max(result.error, check.specification.error);
      if (!check.specification.passed) result.state = State::kFailed;
    }
    result.check = "matmul of each format against its de-quantised weights";
    return result;
  }

  void add_format(const PackedFormat& format, const FormatCheck& check) {
    SupportRow row;
    row.feature = "weights " + format_label(format);
    row.operators = cell(check.specification, check.kernel);
    row.batching = cell(check.rows, check.kernel);
    row.quantised = cell(check.specification, "kept packed, " + format_label(format));
    if (format.format == kernels::WeightFormat::kF32 ||
        format.format == kernels::WeightFormat::kBf16 ||
        format.format == kernels::WeightFormat::kF16)
      row.quantised = not_needed("stored as it is");
    if (format.format == kernels::WeightFormat::kInt8 && format.int8_inputs)
      row.quantised.by = "rounded to int8 at load";
    row.tuned = tuned(check.twin, check.kernel);
    row.tuned.by = check.kernel;
    table_.rows.push_back(std::move(row));
  }

  void add_vision() {
    SupportRow row;
    row.feature = "vision tower";
    for (SupportCell* c : {&row.operators, &row.batching, &row.quantised, &row.tuned})
      c->check = "this version runs text only; the tower's weights are audited and not loaded";
    table_.rows.push_back(std::move(row));
  }

  const ModelConfig& config_;
  Isa isa_;
  ModelFormats formats_;
  SelfCheck batching_;
  std::vector<std::pair<PackedFormat, FormatCheck>> checks_;
  SupportTable table_;
};

json::Value to_json(const SupportCell& cell) {
  json::Value value = json::Value::object();
  value.set("state", state_name(cell.state));
  value.set("by", cell.by.empty() ? json::Value() : json::Value(cell.by));
  value.set("check", cell.check);
  value.set("error", cell.error);
  return value;
}

}  // namespace

const char* state_name(State state) {
  switch (state) {
    case State::kYes: return "yes";
    case State::kNo: return "no";
    case State::kFailed: return "failed";
    case State::kNotNeeded: return "not needed";
  }
  return "no";
}

bool SupportTable::any_failed() const {
  return std::any_of(rows.begin(), rows.end(), [](const SupportRow& row) {
    return row.operators.state == State::kFailed || row.batching.state == State::kFailed ||
           row.quantised.state == State::kFailed || row.tuned.state == State::kFailed;
  });
}

json::Value SupportTable::to_json() const {
  json::Value list = json::Value::array();
  for (const SupportRow& row : rows) {
    json::Value entry = json::Value::object();
    entry.set("feature", row.feature);
    entry.set("operators", trine::to_json(row.operators));
    entry.set("batching_and_paged_cache", trine::to_json(row.batching));
    entry.set("quantised_path", trine::to_json(row.quantised));
    entry.set("tuned", trine::to_json(row.tuned));
    list.push(std::move(entry));
  }
  json::Value note_list = json::Value::array();
  for (const std::string& note : notes) note_list.push(note);
  json::Value value = json::Value::object();
  value.set("features", std::move(list));
  value.set("notes", std::move(note_list));
  return value;
}

SupportTable check_support(const ModelConfig& config, const model::WeightSet& weights,
                           const std::string& expert_format, Isa isa, bool int8_inputs) {
  return TableBuilder(config, weights, expert_format, isa, int8_inputs).build();
}

}  // namespace trine
