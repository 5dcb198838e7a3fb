// The serving room's battery on a loaded model.
#include "trine/selfcheck.h"

#include "base/try.h"
#include "serving/model_executor.h"
#include "serving/selfcheck.h"
#include "serving/service_plan.h"
#include "serving/slot_layout.h"

namespace trine {
namespace {

/// The largest rig of the battery: four requests with sixteen snapshots, all of the longest prompt.
constexpr int64_t kSlots = 20;
constexpr int64_t kRequests = 4;

}  // namespace

Result<std::vector<SelfcheckResult>> selfcheck(const std::string& folder,
                                               const SelfcheckRequest& request) {
  if (request.prompt_tokens < 16 || request.answer_tokens < 1) {
    return Status(Code::kInvalidArgument,
                  "selfcheck takes prompts of at least 16 tokens and answers of at least 1");
  }
  const int64_t context = 2 * request.prompt_tokens + 4 * request.answer_tokens + 64;
  const PagedModel::Planner planner =
      [&](const PagedModel::Terms& terms) -> Result<PagedModel::Sizes> {
    TRINE_ASSIGN_OR_RETURN(
        const serving::ServicePlan plan,
        serving::plan_service(
            terms, {.context = context,
                    .concurrency = kRequests,
                    .snapshot_bytes =
                        (kSlots - kRequests) *
                        serving::SlotLayout(terms.state_bytes, terms.config.vocab_size).bytes()}));
    return PagedModel::Sizes{.context = context,
                             .prefill_chunk = terms.prefill_chunk,
                             .pass_rows = plan.pass_rows,
                             .memory = {}};
  };
  TRINE_ASSIGN_OR_RETURN(PagedModel paged, PagedModel::load(folder, request.load, planner));
  const int threads = paged.model.threads();
  serving::ModelExecutor executor(std::move(paged));
  std::vector<SelfcheckResult> results;
  for (serving::SelfcheckRow& row :
       serving::selfcheck(executor, {.seed = request.seed,
                                    .prompt_tokens = request.prompt_tokens,
                                    .answer_tokens = request.answer_tokens,
                                    .use_threads = [&](int count) { executor.use_threads(count); },
                                    .threads = threads,
                                    .progress = request.started})) {
    results.push_back({std::move(row.name), row.passed, std::move(row.detail), row.seconds});
  }
  return results;
}

}  // namespace trine
