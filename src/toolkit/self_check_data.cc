// Seeded data and comparison of self-checks.
#include "toolkit/self_check_data.h"

#include <algorithm>
#include <cmath>

#include "toolkit/synth_random.h"

namespace trine {

std::vector<float> random_floats(std::string_view name, int64_t count, float range) {
  const CounterStream stream(1, name);
  std::vector<float> values;
  values.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto unit = static_cast<float>(stream.word(i) >> 40) / 8388608.0f - 1.0f;
    values.push_back(unit * range);
  }
  return values;
}

SelfCheck compare(const std::vector<float>& out, const std::vector<double>& specification,
                  double tolerance, const std::string& detail) {
  SelfCheck check;
  check.tolerance = tolerance;
  check.detail = detail;
  double largest = 0;
  for (const double value : specification) largest = std::max(largest, std::fabs(value));
  bool finite = out.size() == specification.size();
  for (size_t i = 0; finite && i < out.size(); ++i) {
    finite = std::isfinite(out[i]);
    check.error = std::max(check.error, std::fabs(static_cast<double>(out[i]) - specification[i]));
  }
  if (largest > 0) check.error /= largest;
  check.passed = finite && check.error <= tolerance;
  if (!finite) check.detail += ": not finite";
  return check;
}

}  // namespace trine
