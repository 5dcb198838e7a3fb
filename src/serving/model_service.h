// A model with its scheduler on a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serving/scheduler.h"
#include "serving/service.h"
#include "serving/service_plan.h"
#include "trine/model.h"

namespace trine::serving {

struct ModelServiceOptions {
  LoadOptions load;  ///< precision, isa, threads, prefill_chunk, int8_inputs, progress
  ServicePlanRequest memory;
  int64_t queue_max = 256;  ///< requests that wait
  int64_t snapshot_spacing = 1024;
  double step_ms = 500;             ///< a pass takes about that at most while somebody decodes
  std::vector<int32_t> end_tokens;  ///< beside those of the model's config
  std::string snapshot_dir;         ///< file tier of snapshots; "" = none
  int64_t snapshot_dir_bytes = int64_t{16} << 30;
  bool poison = false;  ///< free slots and pages are NaN (tests, selfcheck)
  /// Called from the step thread at each first admission: what was reused, and why not more.
  std::function<void(const Admission&)> admitted;
};

class ModelService : public Service {
 public:
  struct Impl;
  explicit ModelService(std::unique_ptr<Impl> impl);  ///< for start
  /// Loads, plans and touches all memory. Errors: those of Model::load and plan_service.
  static Result<std::unique_ptr<ModelService>> start(const std::string& folder,
                                                     ModelServiceOptions options);
  /// Ends what runs (kCancelled) and writes snapshots to the file tier.
  ~ModelService() override;

  Result<RequestId> submit(Request request, std::shared_ptr<Sink> sink) override;
  void cancel(RequestId id) override;
  void flush_cache() override;
  Gauges gauges() const override;
  Counters counters() const override;
  int64_t context() const override;
  int64_t vocab_size() const override;

  /// Refuses what comes from now on (kBusy), lets what is there end until `deadline`, then cancels.
  /// Returns when nothing runs.
  void drain(Clock::time_point deadline);

  const ServicePlan& plan() const;
  const Model& model() const;
  /// Every end token in force.
  const std::vector<int32_t>& end_tokens() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::serving
