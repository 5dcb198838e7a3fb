// Defaults give way until the plan fits; what was asked for is kept or refused.
#include "serving/service_plan.h"

#include <algorithm>

#include "platform/memory.h"
#include "serving/slot_layout.h"

namespace trine::serving {
namespace {

constexpr int64_t kContextMin = 2048;
constexpr int64_t kSnapshotsPerRequest = 2;
/// Logits of prompts (scheduler_pass.cc) and what connections, tokens and JSON take.
constexpr int64_t kFixedBytes = int64_t{64} << 20;

class Planner {
 public:
  Planner(const PagedModel::Terms& terms, const ServicePlanRequest& request)
      : terms_(terms),
        request_(request),
        slot_bytes_(SlotLayout(terms.state_bytes, terms.config.vocab_size).bytes()) {}

  Result<ServicePlan> run() {
    const int64_t longest = terms_.config.max_position_embeddings;
    int64_t context = request_.context;
    if (context == 0) context = longest > 0 ? std::min(longest, kDefaultContext) : kDefaultContext;
    int64_t concurrency = request_.concurrency > 0 ? request_.concurrency : kDefaultConcurrency;
    if (longest > 0 && context > longest) {
      return Status(Code::kInvalidArgument, "context is " + std::to_string(context) +
                                                " tokens, but the model's config allows " +
                                                std::to_string(longest));
    }
    ServicePlan plan = with(context, concurrency, wanted_snapshots(concurrency));
    const auto fits = [&] { return plan.total_bytes <= plan.limit_bytes; };
    while (!fits() && request_.snapshot_bytes < 0 && plan.snapshots > 1)
      plan = with(context, concurrency, plan.snapshots / 2);
    while (!fits() && request_.concurrency == 0 && concurrency > 1) {
      concurrency /= 2;
      plan = with(context, concurrency, std::min(plan.snapshots, wanted_snapshots(concurrency)));
    }
    while (!fits() && request_.context == 0 && context > kContextMin) {
      context = std::max(kContextMin, context / 2);
      plan = with(context, concurrency, plan.snapshots);
    }
    if (!fits()) overcommit(&plan);
    if (!fits()) return refusal(plan);
    return plan;
  }

 private:
  int64_t blocks_of(int64_t tokens) const {
    return terms_.block_bytes == 0 ? 0 : (tokens + terms_.block_tokens - 1) / terms_.block_tokens;
  }
  int64_t wanted_snapshots(int64_t concurrency) const {
    if (request_.snapshot_bytes < 0) return kSnapshotsPerRequest * concurrency;
    return request_.snapshot_bytes / slot_bytes_;
  }

  ServicePlan with(int64_t context, int64_t concurrency, int64_t snapshots) const {
    ServicePlan plan;
    plan.context = context;
    plan.concurrency = concurrency;
    plan.snapshots = snapshots;
    plan.blocks = concurrency * blocks_of(context);
    plan.pass_rows = std::max(terms_.prefill_chunk, concurrency);
    plan.weight_bytes = terms_.weight_bytes;
    plan.activation_bytes =
        terms_.activation_bytes(plan.pass_rows, context) + kFixedBytes +
        concurrency * terms_.config.vocab_size * 4 +
        (request_.staging ? slot_bytes_ + blocks_of(context) * terms_.block_bytes : 0);
    plan.slot_bytes = slot_bytes_;
    plan.block_bytes = terms_.block_bytes;
    plan.limit_bytes = request_.memory_bytes > 0
                           ? std::min(request_.memory_bytes, terms_.available_bytes)
                           : terms_.available_bytes;
    sum(&plan);
    return plan;
  }

  static void sum(ServicePlan* plan) {
    plan->total_bytes = plan->weight_bytes + plan->activation_bytes +
                        (plan->concurrency + plan->snapshots) * plan->slot_bytes +
                        plan->blocks * plan->block_bytes;
  }

  /// A stated limit may hold fewer latent pages than all requests at full length would need: some
  /// then wait for others. One request of full length must fit.
  void overcommit(ServicePlan* plan) const {
    if (request_.memory_bytes == 0 || plan->block_bytes == 0) return;
    const int64_t excess = plan->total_bytes - plan->limit_bytes;
    const int64_t less = (excess + plan->block_bytes - 1) / plan->block_bytes;
    if (plan->blocks - less < blocks_of(plan->context)) return;
    plan->blocks -= less;
    plan->overcommitted = true;
    sum(plan);
  }

  Status refusal(const ServicePlan& plan) const {
    return {Code::kOutOfMemory,
            "a server with " + std::to_string(plan.concurrency) + " requests of " +
                std::to_string(plan.context) + " tokens at once needs " +
                format_bytes(plan.total_bytes) + " (weights " + format_bytes(plan.weight_bytes) +
                ", " + std::to_string(plan.concurrency + plan.snapshots) + " states of " +
                format_bytes(plan.slot_bytes) + ", latent cache " +
                format_bytes(plan.blocks * plan.block_bytes) + ", activations " +
                format_bytes(plan.activation_bytes) + "), but only " +
                format_bytes(plan.limit_bytes) +
                (request_.memory_bytes > 0 && plan.limit_bytes == request_.memory_bytes
                     ? " are allowed"
                     : " of memory can be used") +
                "; ask for a shorter context, fewer requests at once or a smaller snapshot budget"};
  }

  const PagedModel::Terms& terms_;
  const ServicePlanRequest& request_;
  int64_t slot_bytes_;
};

}  // namespace

Result<ServicePlan> plan_service(const PagedModel::Terms& terms,
                                 const ServicePlanRequest& request) {
  const auto negative = [](const std::string& what, int64_t value) {
    return Status(Code::kInvalidArgument,
                  what + " is " + std::to_string(value) + ", expected 0 (default) or more");
  };
  if (request.context < 0) return negative("context", request.context);
  if (request.concurrency < 0) return negative("concurrency", request.concurrency);
  if (request.concurrency > 4096) {
    return Status(Code::kInvalidArgument, "concurrency is " + std::to_string(request.concurrency) +
                                              ", expected at most 4096");
  }
  if (request.memory_bytes < 0) return negative("memory", request.memory_bytes);
  return Planner(terms, request).run();
}

std::string describe(const ServicePlan& plan) {
  std::string text = std::to_string(plan.concurrency) + " requests at once, " +
                     std::to_string(plan.context) + " tokens each, " +
                     std::to_string(plan.snapshots) + " snapshots for prefix reuse\n";
  text += "memory " + format_bytes(plan.total_bytes) + " of " + format_bytes(plan.limit_bytes) +
          ": weights " + format_bytes(plan.weight_bytes) + ", states " +
          format_bytes((plan.concurrency + plan.snapshots) * plan.slot_bytes) + ", latent cache " +
          format_bytes(plan.blocks * plan.block_bytes) + ", passes " +
          format_bytes(plan.activation_bytes) + "\n";
  if (plan.overcommitted) {
    text +=
        "the latent cache holds " + std::to_string(plan.blocks) +
        " pages, fewer than all requests at full length need: some may be preempted and resumed\n";
  }
  return text;
}

}  // namespace trine::serving
