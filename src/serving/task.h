// One request on its way through the scheduler.
#pragma once

#include <memory>
#include <vector>

#include "serving/executor.h"
#include "serving/request.h"
#include "serving/sampling.h"
#include "serving/service.h"
#include "serving/state_pool.h"

namespace trine::serving {

struct Task {
  enum class Phase {
    kWaiting,  ///< for its first or, after a preemption, its next slot
    kRunning,
    kClosing,  ///< finished; its last token is run once more, for the snapshot of the answer's end
    kDone,     ///< to be erased
  };

  Task(RequestId number, Request wanted, std::shared_ptr<Sink> to, Clock::time_point now)
      : id(number),
        request(std::move(wanted)),
        sink(std::move(to)),
        tokens(request.prompt),
        chooser(request.sampling, request.prompt),
        submitted(now) {}

  RequestId id;
  Request request;
  std::shared_ptr<Sink> sink;
  std::vector<int32_t> tokens;  ///< prompt, then the answer so far
  TokenChooser chooser;
  Phase phase = Phase::kWaiting;
  bool cancelled = false;
  int64_t passed_over = 0;  ///< admissions of younger requests while it waited

  // While it runs:
  SlotId slot = kNone;
  std::vector<BlockId> blocks;
  std::unique_ptr<ExecutorSequence> sequence;
  int64_t fork_at = 0;  ///< a snapshot is due there: other prompts part from this one
  int64_t rows = 0;     ///< of the pass that is being planned

  int64_t prompt_told = 1;  ///< prompt tokens whose logprobs the sink knows (the first has none)
  bool was_admitted = false;
  int64_t cached_tokens = 0;
  Clock::time_point submitted, first_admitted, first_token;

  int64_t prompt_size() const { return static_cast<int64_t>(request.prompt.size()); }
  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  int64_t generated() const { return size() - prompt_size(); }
  int64_t position() const { return sequence->position(); }
  int64_t pending() const { return size() - position(); }
  bool holds_slot() const { return phase == Phase::kRunning || phase == Phase::kClosing; }
};

}  // namespace trine::serving
