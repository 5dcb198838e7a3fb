// The scheduler's executor over a loaded model.
#pragma once

#include <memory>
#include <string>

#include "engine/paged_model.h"
#include "serving/executor.h"

namespace trine::serving {

class ModelExecutor : public Executor {
 public:
  explicit ModelExecutor(PagedModel model);

  int64_t vocab_size() const override;
  int64_t block_tokens() const override;
  int64_t block_bytes() const override;
  int64_t block_planes() const override;
  int64_t state_bytes() const override;
  int64_t pass_rows() const override;
  std::unique_ptr<ExecutorSequence> open(std::byte* slot, bool fresh) override;
  void run(std::span<Work> works) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void use_threads(int threads) { paged_.use_threads(threads); }
  const PagedModel& paged() const { return paged_; }

 private:
  PagedModel paged_;
  std::vector<PagedWork> works_;
};

}  // namespace trine::serving
