// The battery passes on sound engines and finds the faults that others had.
#include "serving/selfcheck.h"

#include <gtest/gtest.h>

#include "serving/model_executor.h"
#include "toy_executor.h"

namespace trine::serving {
namespace {

const SelfcheckOptions kSmall{.prompt_tokens = 30, .answer_tokens = 6};

TEST(Selfcheck, PassesOnASoundModel) {
  ToyExecutor toy;
  for (const SelfcheckRow& row : selfcheck(toy, kSmall))
    EXPECT_TRUE(row.passed) << row.name << ": " << row.detail;
  EXPECT_EQ(toy.fault, "");
}

TEST(Selfcheck, PassesOnACheckpoint) {
  Result<PagedModel> paged =
      PagedModel::load(TRINE_SOURCE_DIR "/models/k3-nano", {.threads = 2, .prefill_chunk = 64},
                       [](const PagedModel::Terms&) -> Result<PagedModel::Sizes> {
                         return PagedModel::Sizes{
                             .context = 1024, .prefill_chunk = 64, .pass_rows = 64, .memory = {}};
                       });
  ASSERT_TRUE(paged.ok()) << paged.status().message();
  ModelExecutor executor(std::move(*paged));
  SelfcheckOptions options{.prompt_tokens = 100, .answer_tokens = 6};
  options.threads = 2;
  options.use_threads = [&](int threads) { executor.use_threads(threads); };
  for (const SelfcheckRow& row : selfcheck(executor, options))
    EXPECT_TRUE(row.passed) << row.name << ": " << row.detail;
}

/// Rows that failed.
std::string failed(Executor& executor) {
  std::string names;
  for (const SelfcheckRow& row : selfcheck(executor, kSmall)) {
    if (!row.passed) names += row.name + "; ";
  }
  return names;
}

// Snapshots whose state is never written (recurrent states that are not copied).
TEST(Selfcheck, FindsStatesThatAreNotCopied) {
  struct : ToyExecutor {
    void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
      if (bytes == block_bytes()) ToyExecutor::copy(to, from, bytes);
    }
  } broken;
  EXPECT_NE(failed(broken).find("prefix hit"), std::string::npos);
}

// A partial block that two sequences write to.
TEST(Selfcheck, FindsBlocksThatAreNotCopied) {
  struct : ToyExecutor {
    void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
      if (bytes != block_bytes()) ToyExecutor::copy(to, from, bytes);
    }
  } broken;
  EXPECT_NE(failed(broken), "");
}

// A sequence begins with what the slot's last owner left.
TEST(Selfcheck, FindsStatesThatAreNotReset) {
  struct : ToyExecutor {
    std::unique_ptr<ExecutorSequence> open(std::byte* slot, bool) override {
      return ToyExecutor::open(slot, false);
    }
  } broken;
  EXPECT_NE(failed(broken), "");
}

// Everybody reads the first sequence's logits.
TEST(Selfcheck, FindsRowsThatAreMixedUp) {
  struct : ToyExecutor {
    void run(std::span<Work> works) override {
      ToyExecutor::run(works);
      if (works.size() < 2 || works[0].logits == nullptr || works[1].logits == nullptr) return;
      if (!works[0].all_logits && !works[1].all_logits)
        std::swap_ranges(works[0].logits, works[0].logits + kVocab, works[1].logits);
    }
  } broken;
  EXPECT_NE(failed(broken).find("among others"), std::string::npos);
}

// Long prompts differ by how they are cut.
TEST(Selfcheck, FindsChunksThatMatter) {
  struct : ToyExecutor {
    void run(std::span<Work> works) override {
      ToyExecutor::run(works);
      for (const Work& work : works) {
        if (work.ids.size() == 5 && work.logits != nullptr) work.logits[3] += 1e-3f;
      }
    }
  } broken;
  EXPECT_NE(failed(broken), "");
}

}  // namespace
}  // namespace trine::serving
