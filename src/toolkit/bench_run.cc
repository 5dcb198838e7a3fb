// Prefill and decode against the clock; router choices of the same tokens without it.
#include "toolkit/bench_run.h"

#include <algorithm>
#include <chrono>

#include "base/try.h"
#include "engine/bench_access.h"
#include "kernels/args.h"
#include "toolkit/bench_roof.h"
#include "toolkit/synth_random.h"

namespace trine {
namespace {

using Clock = std::chrono::steady_clock;

// Tokens that are really prefilled below a depth; the rest is filled by repetition.
constexpr int64_t kSeedTokens = 128;
// Traces are taken in pieces, because they hold every layer's residuals.
constexpr int64_t kTraceTokens = 64;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<int32_t> bench_ids(int64_t sequence, int64_t begin, int64_t count, int64_t vocab_size) {
  std::vector<int32_t> ids;
  for (int64_t i = begin; i < begin + count; ++i) ids.push_back(bench_id(sequence, i, vocab_size));
  return ids;
}

}  // namespace

int32_t bench_id(int64_t sequence, int64_t place, int64_t vocab_size) {
  static const CounterStream stream(0, "bench");
  return static_cast<int32_t>(stream.word(sequence << 32 | place) %
                              static_cast<uint64_t>(vocab_size));
}

Status BenchRunner::grow(int64_t count) {
  while (static_cast<int64_t>(sequences_.size()) < count) {
    TRINE_ASSIGN_OR_RETURN(auto sequence, model_.new_sequence());
    sequences_.push_back(std::move(sequence));
  }
  return Status();
}

Result<double> BenchRunner::time_prefill(const BenchRow& row) {
  TRINE_RETURN_IF_ERROR(grow(1));
  sequences_[0].reset();
  const auto ids = bench_ids(0, 0, row.tokens, model_.vocab_size());
  const Clock::time_point start = Clock::now();
  const auto logits = sequences_[0].prefill(ids);
  const double seconds = seconds_since(start);
  TRINE_RETURN_IF_ERROR(logits.status());
  return seconds;
}

Result<double> BenchRunner::time_decode(const BenchRow& row) {
  TRINE_RETURN_IF_ERROR(grow(row.batch));
  std::vector<Sequence*> batch;
  std::vector<int32_t> ids(static_cast<size_t>(row.batch));
  for (int64_t b = 0; b < row.batch; ++b) {
    Sequence& sequence = sequences_[static_cast<size_t>(b)];
    sequence.reset();
    if (row.depth > 0) {
      const int64_t rest = row.depth % kernels::kKdaChunk;
      const int64_t real = std::min(row.depth, kSeedTokens + rest);
      const auto prompt = bench_ids(b, 0, real, model_.vocab_size());
      TRINE_RETURN_IF_ERROR(sequence.prefill(prompt).status());
      TRINE_RETURN_IF_ERROR(BenchAccess::skip_to(&sequence, row.depth));
    }
    batch.push_back(&sequence);
  }
  const int64_t steps = row.tokens / row.batch;
  const Clock::time_point start = Clock::now();
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t b = 0; b < row.batch; ++b)
      ids[static_cast<size_t>(b)] = bench_id(b, row.depth + step, model_.vocab_size());
    TRINE_RETURN_IF_ERROR(model_.decode_batch(batch, ids, &logits_));
  }
  return seconds_since(start);
}

Result<std::vector<int32_t>> BenchRunner::trace_router(int64_t sequence, int64_t tokens,
                                                       int64_t moe_layers, int64_t picked) {
  TRINE_RETURN_IF_ERROR(grow(1));
  sequences_[0].reset();
  std::vector<int32_t> all(static_cast<size_t>(moe_layers * tokens * picked));
  for (int64_t begin = 0; begin < tokens; begin += kTraceTokens) {
    const int64_t count = std::min(kTraceTokens, tokens - begin);
    Trace trace;
    Sequence::PrefillOptions options;
    options.trace = &trace;
    const auto ids = bench_ids(sequence, begin, count, model_.vocab_size());
    TRINE_RETURN_IF_ERROR(sequences_[0].prefill(ids, options).status());
    for (int64_t layer = 0; layer < moe_layers; ++layer)
      std::copy_n(trace.router_ids.data() + layer * count * picked, count * picked,
                  all.data() + (layer * tokens + begin) * picked);
  }
  return all;
}

Result<double> BenchRunner::count_experts(const BenchRow& row, int64_t moe_layers, int64_t picked) {
  if (row.kind == "prefill") {
    TRINE_ASSIGN_OR_RETURN(const auto ids, trace_router(0, row.tokens, moe_layers, picked));
    return distinct_experts(ids, moe_layers, row.tokens, picked, model_.prefill_chunk());
  }
  // Step s of a batch meets what token s of each sequence meets: prefill and decode choose alike.
  const int64_t steps = row.tokens / row.batch;
  std::vector<int32_t> all(static_cast<size_t>(moe_layers * row.tokens * picked));
  for (int64_t b = 0; b < row.batch; ++b) {
    TRINE_ASSIGN_OR_RETURN(const auto ids, trace_router(b, steps, moe_layers, picked));
    for (int64_t i = 0; i < moe_layers * steps; ++i)
      std::copy_n(ids.data() + i * picked, picked, all.data() + (i * row.batch + b) * picked);
  }
  return distinct_experts(all, moe_layers, row.tokens, picked, row.batch);
}

}  // namespace trine
