// Usage: bench_ops [LEVEL ...]
// KDA and MLA of each level against the arithmetic peak of the same unit. The peak is measured
// again right beside each figure, so that a busy neighbour lowers both; both are the best of many.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/peak_table.h"
#include "kernels/table.h"
#include "platform/cpu.h"

namespace trine::bench {
namespace {

using kernels::kKdaChunk;
using kernels::kMlaPageRows;
using kernels::LatentType;
using kernels::PeakLoop;

/// Seconds of this thread: what others ran in between is left out.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds_of(const std::function<void()>& work) {
  const double begin = thread_seconds();
  work();
  return thread_seconds() - begin;
}

/// Prints GFLOP/s of `work` and of the peak loop, the best of rounds that alternate between them.
void report(const std::string& what, double operations, const PeakLoop& peak,
            const std::function<void()>& work) {
  constexpr int64_t kPeakRounds = 20000;
  double best = std::numeric_limits<double>::infinity();
  double peak_best = best;
  for (int round = 0; round < 100; ++round) {
    best = std::min(best, seconds_of(work));
    peak_best = std::min(peak_best, seconds_of([&] { peak.run(kPeakRounds); }));
  }
  const double rate = operations / best * 1e-9;
  const double roof = static_cast<double>(peak.operations * kPeakRounds) / peak_best * 1e-9;
  std::printf("%-44s %8.1f GFLOP/s  %5.1f %% of %s (%.1f)\n", what.c_str(), rate, 100 * rate / roof,
              peak.name, roof);
}

std::vector<float> normal(int64_t n, float size, std::mt19937* engine) {
  std::normal_distribution<float> distribution(0.0F, size);
  std::vector<float> x(static_cast<size_t>(n));
  std::generate(x.begin(), x.end(), [&] { return distribution(*engine); });
  return x;
}

/// Tokens of one head in calls of `step`; operations as the state's reads and its update count.
void bench_kda(const std::string& level, const kernels::KernelTable& table, const PeakLoop& peak,
               int64_t dim, int64_t step) {
  constexpr int64_t kTokens = 256;
  std::mt19937 engine(1);
  const float size = 1.0F / static_cast<float>(dim);
  const std::vector<float> q = normal(kTokens * dim, size, &engine);
  const std::vector<float> k = normal(kTokens * dim, size, &engine);
  const std::vector<float> v = normal(kTokens * dim, 1.0F, &engine);
  const std::vector<float> g(q.size(), -0.1F);
  const std::vector<float> beta(kTokens, 0.5F);
  std::vector<float> out(q.size());
  std::vector<float> state(static_cast<size_t>(dim * dim));
  std::vector<float> open(static_cast<size_t>(2 * kKdaChunk * dim));
  std::vector<float> open_g(static_cast<size_t>(dim));
  const double operations = 6.0 * static_cast<double>(dim * dim * kTokens);
  const std::string what = level + " kda D=" + std::to_string(dim) + ", calls of " +
                           std::to_string(step) + (step == 1 ? " token" : " tokens");
  report(what, operations, peak, [&] {
    for (int64_t t = 0; t < kTokens; t += step) {
      table.kda({dim, step, t, q.data() + t * dim, k.data() + t * dim, v.data() + t * dim,
                 g.data() + t * dim, dim, beta.data() + t, 1, state.data(), open.data(),
                 open.data() + kKdaChunk * dim, open_g.data(), out.data() + t * dim, dim});
    }
  });
}

void bench_mla(const std::string& level, const kernels::KernelTable& table, const PeakLoop& peak,
               LatentType type, int64_t m) {
  constexpr int64_t kPages = 8;  // stays in the second cache level: arithmetic is what is measured
  constexpr int64_t kRow = 576;
  constexpr int64_t kValues = 512;
  std::mt19937 engine(1);
  const std::vector<float> latent = normal(kPages * kMlaPageRows * kRow, 1.0F, &engine);
  std::vector<uint16_t> half(latent.size());
  table.to_bf16({latent.data(), static_cast<int64_t>(latent.size()),
                 static_cast<int64_t>(latent.size()), half.data()});
  std::vector<const void*> pages;
  for (int64_t page = 0; page < kPages; ++page) {
    const int64_t at = page * kMlaPageRows * kRow;
    if (type == LatentType::kF32) {
      pages.push_back(latent.data() + at);
    } else {
      pages.push_back(half.data() + at);
    }
  }
  const std::vector<float> q = normal(m * kRow, 1.0F, &engine);
  const std::vector<int64_t> visible(static_cast<size_t>(m), kPages * kMlaPageRows);
  std::vector<float> max(visible.size());
  std::vector<float> sum(visible.size());
  std::vector<float> acc(static_cast<size_t>(m * kValues));
  const double operations = 2.0 * static_cast<double>(m * kPages * kMlaPageRows * (kRow + kValues));
  const std::string what = level + " mla " + (type == LatentType::kF32 ? "f32" : "bf16") + ", " +
                           std::to_string(m) + " queries";
  report(what, operations, peak, [&] {
    std::fill(max.begin(), max.end(), -std::numeric_limits<float>::infinity());
    std::fill(sum.begin(), sum.end(), 0.0F);
    std::fill(acc.begin(), acc.end(), 0.0F);
    table.mla({q.data(), kRow, m, visible.data(), 0.07F, type, pages.data(), kRow, kRow, kValues, 0,
               kPages, max.data(), sum.data(), acc.data(), kValues});
  });
}

void bench_level(Isa isa) {
  const std::string level = isa_name(isa);
  const kernels::KernelTable& table = kernels::kernel_table(isa);
  const kernels::PeakTable& peaks = kernels::peak_table(isa);
  for (const int64_t step : {int64_t{256}, int64_t{1}}) {
    bench_kda(level, table, peaks.f32, 128, step);
  }
  for (const int64_t m : {1, 4, 8, 16, 32, 96, 256}) {
    bench_mla(level, table, peaks.f32, LatentType::kF32, m);
    const bool narrow = table.bf16_inputs && peaks.bf16.run != nullptr;
    bench_mla(level, table, narrow ? peaks.bf16 : peaks.f32, LatentType::kBf16, m);
  }
}

}  // namespace
}  // namespace trine::bench

int main(int argc, char** argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  for (const trine::Isa isa : trine::supported_isas()) {
    const bool named =
        std::find(wanted.begin(), wanted.end(), trine::isa_name(isa)) != wanted.end();
    if (named || (wanted.empty() && isa != trine::Isa::kScalar)) {
      trine::bench::bench_level(isa);
    }
  }
  return 0;
}
