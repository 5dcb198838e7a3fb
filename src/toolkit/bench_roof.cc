// Roof arithmetic: pure functions of costs and peaks.
#include "toolkit/bench_roof.h"

#include <algorithm>
#include <set>

namespace trine {

namespace {

double peak_of(engine::Unit unit, const Peaks& peaks) {
  double peak = 0;
  if (unit == engine::Unit::kBf16) peak = peaks.matrix_bf16();
  if (unit == engine::Unit::kInt8) peak = peaks.int8;
  return peak > 0 ? peak : peaks.f32;
}

}  // namespace

double roof_seconds(const engine::PassCost& cost, const Peaks& peaks) {
  double seconds = 0;
  for (const engine::Cost& part : cost.costs) {
    const double peak = peak_of(part.unit, peaks);
    const double reading = peaks.read_bytes_per_s > 0 ? part.bytes / peaks.read_bytes_per_s : 0;
    const double computing = peak > 0 ? part.operations / peak : 0;
    seconds += std::max(reading, computing);
  }
  return seconds;
}

void use_actual_experts(engine::PassCost* cost, double expected, double actual) {
  if (expected <= 0) return;
  for (engine::Cost& part : cost->costs)
    if (part.kind == "experts") part.bytes *= actual / expected;
}

double distinct_experts(const std::vector<int32_t>& ids, int64_t layers, int64_t tokens,
                        int64_t picked, int64_t chunk) {
  int64_t total = 0;
  int64_t groups = 0;
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (int64_t begin = 0; begin < tokens; begin += chunk) {
      const int64_t end = std::min(tokens, begin + chunk);
      const auto* row = ids.data() + (layer * tokens + begin) * picked;
      total += static_cast<int64_t>(std::set<int32_t>(row, row + (end - begin) * picked).size());
      ++groups;
    }
  }
  return groups > 0 ? static_cast<double>(total) / static_cast<double>(groups) : 0;
}

}  // namespace trine
