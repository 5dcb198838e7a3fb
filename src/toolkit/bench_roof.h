// The roof of a phase: what its bytes and operations would take at the speeds measured in this run.
#pragma once

#include <string>
#include <vector>

#include "engine/cost_model.h"
#include "toolkit/bench_peaks.h"

namespace trine {

/// Sum over the kinds of operation of max(bytes / read bandwidth, operations / peak of its unit).
double roof_seconds(const engine::PassCost& cost, const Peaks& peaks);

/// Replaces the expected number of distinct experts by the number that was met (means over layers).
void use_actual_experts(engine::PassCost* cost, double expected, double actual);

/// Distinct experts per layer that the rows of each chunk met: mean over layers and chunks.
/// ids: [layers][tokens][picked], as in Trace::router_ids.
double distinct_experts(const std::vector<int32_t>& ids, int64_t layers, int64_t tokens,
                        int64_t picked, int64_t chunk);

}  // namespace trine
