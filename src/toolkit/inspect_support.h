// What trine gives each feature of this very checkpoint, in four stages, each cell backed by a
// check.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "model/weights.h"
#include "platform/cpu.h"

namespace trine {

struct SupportCell {
  enum class State {
    kYes,        ///< a check on the spot passed
    kNo,         ///< trine does not have it
    kFailed,     ///< trine has it and the check failed on this machine
    kNotNeeded,  ///< there is nothing to do at this stage
  };
  State state = State::kNo;
  std::string by;     ///< kernel or mechanism
  std::string check;  ///< what was compared
  double error = 0;   ///< of numeric checks
};

struct SupportRow {
  std::string feature;
  SupportCell operators;
  SupportCell batching;  ///< continuous batching and paged cache
  SupportCell quantised;
  SupportCell tuned;  ///< for this CPU
};

struct SupportTable {
  std::vector<SupportRow> rows;
  std::vector<std::string> notes;
  bool any_failed() const;
  json::Value to_json() const;
};

SupportTable check_support(const checkpoint::ModelConfig& config, const model::WeightSet& weights,
                           const std::string& expert_format, Isa isa, bool int8_inputs);

const char* state_name(SupportCell::State state);

}  // namespace trine
