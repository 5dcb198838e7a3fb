// The promises of docs/design/serving.md shown on any model: every way in which a request can meet
// others, caches and schedules, against the same request alone, to the bit. Free memory is NaN
// meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serving/executor.h"

namespace trine::serving {

struct SelfcheckOptions {
  uint64_t seed = 1;
  int64_t prompt_tokens = 150;  ///< of the longest prompts
  int64_t answer_tokens = 12;
  std::function<void(int threads)> use_threads = {};  ///< of the executor; empty: not checked
  int threads = 1;                                    ///< what it runs with otherwise
  std::function<void(const std::string& name)> progress = {};
};

struct SelfcheckRow {
  std::string name;  ///< "among others", "prefix hit", ...
  bool passed = false;
  std::string detail;  ///< what was compared, or the first difference
  double seconds = 0;
};

/// Rows in order; never stops at the first failure.
std::vector<SelfcheckRow> selfcheck(Executor& executor, const SelfcheckOptions& options);

}  // namespace trine::serving
