// The timed parts of `trine bench` on a loaded model.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cost_model.h"
#include "model/weights.h"
#include "toolkit/bench_report.h"
#include "trine/model.h"
#include "trine/toolkit.h"

namespace trine {

/// One thing to be timed again and again.
struct BenchCase {
  BenchRow row;
  engine::PassCost cost;        ///< of the whole phase
  double expected_experts = 0;  ///< distinct experts per layer and pass that the cost assumes
  double actual_experts = 0;    ///< and those that were met; 0 = the same
};

/// Ids that depend on the sequence and the place alone.
int32_t bench_id(int64_t sequence, int64_t place, int64_t vocab_size);

class BenchRunner {
 public:
  BenchRunner(const Model& model, const BenchOptions& options) : model_(model), options_(options) {}

  /// Seconds of one prefill of row.tokens.
  Result<double> time_prefill(const BenchRow& row);
  /// Seconds of row.tokens / row.batch steps of row.batch sequences at row.depth.
  Result<double> time_decode(const BenchRow& row);
  Result<double> time(const BenchRow& row) {
    return row.kind == "prefill" ? time_prefill(row) : time_decode(row);
  }
  /// Distinct experts per layer and pass of this row, from the router's choices (not timed).
  Result<double> count_experts(const BenchRow& row, int64_t moe_layers, int64_t picked);

 private:
  Status grow(int64_t count);
  Result<std::vector<int32_t>> trace_router(int64_t sequence, int64_t tokens, int64_t moe_layers,
                                            int64_t picked);

  const Model& model_;
  const BenchOptions& options_;
  std::vector<Sequence> sequences_;
  std::vector<float> logits_;
};

}  // namespace trine
