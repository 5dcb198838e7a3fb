// Shows on a model of the user's own that requests which share it get what they would get alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trine/model.h"
#include "trine/status.h"

namespace trine {

struct SelfcheckRequest {
  LoadOptions load;  ///< precision, isa, threads, prefill_chunk, int8_inputs, progress
  uint64_t seed = 1;
  int64_t prompt_tokens = 150;  ///< of the longest prompts
  int64_t answer_tokens = 12;
  std::function<void(const std::string& name)> started = {};  ///< a check begins
};

/// One way in which requests can meet: others beside, a cached prefix, a preemption, ... Compared
/// are the bits of all logits that tokens were chosen from.
struct SelfcheckResult {
  std::string name;
  bool passed = false;
  std::string detail;  ///< what was compared, or the first difference
  double seconds = 0;
};

/// Loads the model and runs all checks. Errors: those of Model::load.
Result<std::vector<SelfcheckResult>> selfcheck(const std::string& folder,
                                               const SelfcheckRequest& request);

}  // namespace trine
