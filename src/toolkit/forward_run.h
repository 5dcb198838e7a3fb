// One prompt through a model in pieces, with everything that a comparison wants to see. Shared by
// write_logits and verify.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "trine/model.h"

namespace trine::toolkit {

/// Sizes of what a run shows.
struct RunShape {
  int64_t tokens = 0;
  int64_t vocab = 0;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t moe_layers = 0;
  int64_t top_k = 0;
  int64_t kda_layers = 0;
  int64_t kda_heads = 0;
  int64_t kda_head_dim = 0;
  int64_t mla_layers = 0;
  int64_t latent = 0;  ///< r + dr
};

class ForwardRun {
 public:
  struct Piece {
    int64_t begin = 0;  ///< first token
    int64_t tokens = 0;
    std::span<const float> logits;        ///< [tokens][vocab]
    std::span<const float> layers;        ///< [layers][tokens][hidden], when traced
    std::span<const int32_t> router_ids;  ///< [moe_layers][tokens][top_k], when traced
  };
  using Progress = std::function<bool(int64_t done, int64_t total)>;

  /// Loads the model with a context just long enough (unless the options name one).
  static Result<ForwardRun> start(const std::string& folder, std::span<const int32_t> ids,
                                  LoadOptions load);

  const RunShape& shape() const { return shape_; }
  const checkpoint::ModelConfig& config() const { return config_; }
  const Model& model() const { return model_; }
  const Sequence& sequence() const { return sequence_; }

  /// Calls `take` for each piece in order. kCancelled when `progress` returns false.
  Status run(bool trace, const Progress& progress, const std::function<Status(const Piece&)>& take);

 private:
  ForwardRun(std::vector<int32_t> ids, checkpoint::ModelConfig config, Model model,
             Sequence sequence);

  std::vector<int32_t> ids_;
  checkpoint::ModelConfig config_;
  Model model_;
  Sequence sequence_;
  RunShape shape_;
};

}  // namespace trine::toolkit
