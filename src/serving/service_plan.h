// How a server divides its memory: decided once, before the weights are read, from closed forms.
#pragma once

#include <cstdint>
#include <string>

#include "engine/paged_model.h"
#include "trine/status.h"

namespace trine::serving {

struct ServicePlanRequest {
  int64_t context = 0;          ///< tokens per request; 0 = default_context
  int64_t concurrency = 0;      ///< requests at once; 0 = default_concurrency
  int64_t snapshot_bytes = -1;  ///< for prefix reuse; -1 = two slots per concurrent request
  bool staging = false;         ///< a file tier: one more slot and the blocks of one request
  int64_t memory_bytes = 0;     ///< all of the process; 0 = what is available (RAM, cgroup)
};

/// Defaults where nothing is asked for: fixed numbers, never a share of what happens to be free.
/// They are halved until they fit.
constexpr int64_t kDefaultContext = 16384;
constexpr int64_t kDefaultConcurrency = 16;

struct ServicePlan {
  int64_t context = 0, concurrency = 0;
  int64_t snapshots = 0;  ///< slots of the snapshot budget
  int64_t blocks = 0;     ///< of block_tokens tokens
  bool overcommitted =
      false;  ///< fewer blocks than context * concurrency: requests may be preempted
  int64_t pass_rows = 0;
  int64_t weight_bytes = 0, activation_bytes = 0, slot_bytes = 0, block_bytes = 0;
  int64_t total_bytes = 0;
  int64_t limit_bytes = 0;  ///< what total_bytes had to stay below
};

/// kOutOfMemory with the numbers; kInvalidArgument for numbers that make no sense.
Result<ServicePlan> plan_service(const PagedModel::Terms& terms, const ServicePlanRequest& request);

/// One line for each decision, as printed at start.
std::string describe(const ServicePlan& plan);

}  // namespace trine::serving
