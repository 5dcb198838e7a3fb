// The running engine as its callers see it: requests in from any thread, tokens out on one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "serving/request.h"
#include "trine/status.h"

namespace trine::serving {

using RequestId = int64_t;

/// What a client of the server may ask about it; all counts are of this process.
struct Gauges {
  int64_t waiting = 0, running = 0;
  int64_t queue_limit = 0, slots = 0;
  int64_t slots_used = 0;
  int64_t snapshots = 0, snapshots_limit = 0;
  int64_t latent_pages = 0, latent_pages_used = 0, latent_pages_cached = 0;
  int64_t state_bytes = 0, latent_bytes = 0, spilled_bytes = 0, spilled_snapshots = 0;
  int64_t context = 0;
  double step_ms = 0;  ///< of the last steps, smoothed
};

/// Monotonic counters.
struct Counters {
  int64_t submitted = 0, refused = 0, finished_stop = 0, finished_length = 0, cancelled = 0,
          deadline = 0, failed = 0, preempted = 0;
  int64_t prompt_tokens = 0, prefill_tokens = 0, decode_tokens = 0, cached_tokens = 0;
  int64_t steps = 0;
  int64_t cache_hits = 0, cache_hits_partial = 0, cache_misses_cold = 0, cache_misses_evicted = 0,
          cache_misses_no_snapshot = 0, cache_bypassed = 0;
  int64_t snapshots_taken = 0, snapshots_evicted = 0, snapshots_spilled = 0, snapshots_restored = 0;
};

class Service {
 public:
  virtual ~Service() = default;
  /// Takes the request into the queue. kInvalidArgument (ids, sizes), kOutOfMemory (can never fit;
  /// the message has the numbers), kBusy (queue full, or draining). On an error the sink is never
  /// called. Thread-safe, as is everything here.
  virtual Result<RequestId> submit(Request request, std::shared_ptr<Sink> sink) = 0;
  /// Ends a request with kCancelled within one step; no effect when it has ended.
  virtual void cancel(RequestId id) = 0;
  /// Forgets all snapshots that no request uses.
  virtual void flush_cache() = 0;
  virtual Gauges gauges() const = 0;
  virtual Counters counters() const = 0;

  virtual int64_t context() const = 0;  ///< tokens of a request at most, prompt and answer
  virtual int64_t vocab_size() const = 0;
};

}  // namespace trine::serving
