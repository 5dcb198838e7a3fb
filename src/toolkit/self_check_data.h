// Seeded data and comparison of self-checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "toolkit/self_check.h"

namespace trine {

/// Uniform in (-range, range); the same values in every run.
std::vector<float> random_floats(std::string_view name, int64_t count, float range);

/// Error relative to the largest specified value; values that are not finite fail.
SelfCheck compare(const std::vector<float>& out, const std::vector<double>& specification,
                  double tolerance, const std::string& detail);

}  // namespace trine
