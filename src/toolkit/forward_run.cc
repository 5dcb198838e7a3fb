// Running a prompt in pieces.
#include "toolkit/forward_run.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "checkpoint/checkpoint.h"

namespace trine::toolkit {
namespace {

constexpr int64_t kBlock = 64;                           // pieces are multiples of it
constexpr int64_t kLogitsBytesMax = int64_t{128} << 20;  // of one piece

RunShape shape_of(const checkpoint::ModelConfig& config, const Model& model, int64_t tokens) {
  RunShape shape;
  shape.tokens = tokens;
  shape.vocab = model.vocab_size();
  shape.layers = config.num_hidden_layers;
  shape.hidden = config.hidden_size;
  shape.moe_layers = config.moe_layer_count();
  shape.top_k = config.num_experts_per_token;
  shape.kda_layers = config.kda_layer_count();
  shape.kda_heads = config.kda_num_heads;
  shape.kda_head_dim = config.kda_head_dim;
  shape.mla_layers = config.mla_layer_count();
  shape.latent = config.kv_lora_rank + config.qk_rope_head_dim;
  return shape;
}

}  // namespace

ForwardRun::ForwardRun(std::vector<int32_t> ids, checkpoint::ModelConfig config, Model model,
                       Sequence sequence)
    : ids_(std::move(ids)),
      config_(std::move(config)),
      model_(std::move(model)),
      sequence_(std::move(sequence)),
      shape_(shape_of(config_, model_, static_cast<int64_t>(ids_.size()))) {}

Result<ForwardRun> ForwardRun::start(const std::string& folder, std::span<const int32_t> ids,
                                     LoadOptions load) {
  if (ids.empty()) {
    return Status(Code::kInvalidArgument, "the prompt has no ids; expected at least one");
  }
  if (load.context == 0) {
    load.context = (static_cast<int64_t>(ids.size()) + kBlock - 1) / kBlock * kBlock;
  }
  if (load.context > 0 && std::ssize(ids) > load.context) {
    return Status(Code::kInvalidArgument, "a prompt of " + std::to_string(ids.size()) +
                                              " tokens does not fit into the context of " +
                                              std::to_string(load.context) +
                                              " tokens; shorten it or give a larger --context");
  }
  checkpoint::OpenOptions headers_only;
  headers_only.scan_scales = false;
  TRINE_ASSIGN_OR_RETURN(auto files, checkpoint::Checkpoint::open(folder, headers_only));
  TRINE_ASSIGN_OR_RETURN(Model model, Model::load(folder, load));
  TRINE_ASSIGN_OR_RETURN(Sequence sequence, model.new_sequence());
  return ForwardRun(std::vector<int32_t>(ids.begin(), ids.end()), files.config(), std::move(model),
                    std::move(sequence));
}

Status ForwardRun::run(bool trace, const Progress& progress,
                       const std::function<Status(const Piece&)>& take) {
  const int64_t row_bytes = shape_.vocab * int64_t{sizeof(float)};
  const int64_t fitting = kLogitsBytesMax / row_bytes / kBlock * kBlock;
  const int64_t step = std::min(model_.prefill_chunk(), std::max(fitting, kBlock));
  for (int64_t begin = 0; begin < shape_.tokens; begin += step) {
    if (progress && !progress(begin, shape_.tokens)) {
      return Status(Code::kCancelled, "cancelled after " + std::to_string(begin) + " tokens");
    }
    Piece piece;
    piece.begin = begin;
    piece.tokens = std::min(step, shape_.tokens - begin);
    Trace seen;
    Sequence::PrefillOptions options;
    options.all_logits = true;
    options.trace = trace ? &seen : nullptr;
    const std::span<const int32_t> ids = std::span<const int32_t>(ids_).subspan(
        static_cast<size_t>(begin), static_cast<size_t>(piece.tokens));
    TRINE_ASSIGN_OR_RETURN(const std::vector<float> logits, sequence_.prefill(ids, options));
    piece.logits = logits;
    piece.layers = seen.layers;
    piece.router_ids = seen.router_ids;
    TRINE_RETURN_IF_ERROR(take(piece));
  }
  if (progress) progress(shape_.tokens, shape_.tokens);
  return Status();
}

}  // namespace trine::toolkit
