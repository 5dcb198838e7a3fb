// Rows of a benchmark and how they are shown. Pure: no clock here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace trine {

struct BenchRow {
  std::string kind;  ///< "prefill", "decode", "load", "first_token"
  int64_t tokens = 0;
  int64_t depth = 0;
  int64_t batch = 1;
  bool busy = false;
  std::vector<double> samples;  ///< seconds of each repeat
  double bytes = 0;             ///< that the phase must read; 0 = does not apply
  double roof_seconds = 0;      ///< 0 = does not apply

  double seconds() const;       ///< median
  double tokens_per_s() const;  ///< all sequences together; 0 = does not apply
  double bytes_per_token() const;
  double roof_fraction() const;
  json::Value to_json() const;
};

/// A size that was asked for and not measured.
struct LeftOut {
  BenchRow row;
  std::string reason;
};

json::Value to_json(const std::vector<LeftOut>& left_out);
/// One line for each.
std::string bench_left_out(const std::vector<LeftOut>& left_out);
/// What it means that a row is above its roof, when one is.
std::string bench_above_roof(const std::vector<BenchRow>& rows);

/// A table with aligned columns.
std::string bench_table(const std::vector<BenchRow>& rows);
/// Ratios of rows that users ask for: depth, batch, busy; one per line.
std::string bench_ratios(const std::vector<BenchRow>& rows);
/// Warnings when repeats of quiet rows differ by more than a tenth.
std::string bench_noise(const std::vector<BenchRow>& rows);

}  // namespace trine
