// Usage: bench_kernels [--threads N] [--isa LEVEL] [--mb N] [--only WORD]
// Matmul of every weight format against the read bandwidth (one and few rows, weights far larger
// than the caches) and against the arithmetic peak (many rows). Each figure is the best of several
// repetitions, and the roof is measured again around each of them, so that a busy neighbour lowers
// both.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/pack.h"
#include "kernels/peaks.h"
#include "kernels/table.h"
#include "platform/cpu.h"

namespace trine::bench {
namespace {

using kernels::KernelTable;
using kernels::MatmulArgs;
using kernels::PackedView;
using kernels::ScaleKind;
using kernels::WeightFormat;

struct Options {
  int threads = 2;
  std::string isa;
  int64_t mb = 400;
  std::string only;
};

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Runs work(thread) on all threads at once; the processor seconds of the slowest, which on a quiet
/// machine is the time that passes, and on a busy one leaves out what others ran in between.
double timed(int threads, const std::function<void(int)>& work) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<double> seconds(static_cast<size_t>(threads));
  const auto part = [&](int i) {
    const double begin = thread_seconds();
    work(i);
    seconds[static_cast<size_t>(i)] = thread_seconds() - begin;
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i)
    pool.emplace_back([&, i] {
      ++ready;
      while (!go.load(std::memory_order_acquire)) {
      }
      part(i);
    });
  while (ready.load() < threads - 1) {
  }
  go.store(true, std::memory_order_release);
  part(0);
  for (std::thread& thread : pool) thread.join();
  return *std::max_element(seconds.begin(), seconds.end());
}

/// Zeroed anonymous memory in huge pages where allowed.
uint8_t* allocate(int64_t bytes) {
  void* p = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::abort();
  madvise(p, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<uint8_t*>(p);
}

struct Format {
  const char* name;
  WeightFormat format;
  ScaleKind scale_kind;
  int64_t group;  ///< 0: one scale per output
};

constexpr Format kFormats[] = {
    {"bf16", WeightFormat::kBf16, ScaleKind::kNone, 0},
    {"mxfp4", WeightFormat::kE2m1, ScaleKind::kE8m0, 32},
    {"nvfp4", WeightFormat::kE2m1, ScaleKind::kF32, 16},
    {"int4-g128", WeightFormat::kInt4, ScaleKind::kF32, 128},
    {"int4-g32", WeightFormat::kInt4, ScaleKind::kF32, 32},
    {"int8", WeightFormat::kInt8, ScaleKind::kF32, 0},
    {"e4m3", WeightFormat::kE4m3, ScaleKind::kF32, 0},
    {"e4m3-g128", WeightFormat::kE4m3, ScaleKind::kF32, 128},
    {"e5m2", WeightFormat::kE5m2, ScaleKind::kF32, 0},
    {"f32", WeightFormat::kF32, ScaleKind::kNone, 0},
};

struct Weights {
  PackedView view;
  int64_t bytes;  ///< codes and scales
};

uint32_t next_random(uint32_t& state) { return state = state * 1664525u + 1013904223u; }

/// Random codes without NaN; memory stays mapped until exit.
Weights make_weights(const Format& f, int64_t n, int64_t k) {
  const int64_t group = f.group == 0 ? k : f.group;
  const int64_t code_bytes = kernels::packed_bytes(f.format, n, k);
  const int64_t scales = kernels::scale_count(n, k, group);
  const int64_t scale_bytes = f.scale_kind == ScaleKind::kF32 ? scales * 4 : scales;
  uint8_t* codes = allocate(code_bytes);
  uint8_t* scale_data = allocate(scale_bytes);
  uint32_t state = 1;
  for (int64_t i = 0; i < code_bytes; i += 4) {
    const uint32_t word =
        next_random(state) & (f.format == WeightFormat::kF32 ? 0xBFFFFFFFu : 0xBFBFBFBFu);
    std::memcpy(codes + i, &word, 4);
  }
  for (int64_t i = 0; i < scales; ++i) {
    const float scale = 1.0f;
    if (f.scale_kind == ScaleKind::kF32)
      std::memcpy(scale_data + i * 4, &scale, 4);
    else
      scale_data[i] = static_cast<uint8_t>(120 + i % 8);
  }
  return {{f.format, f.scale_kind, n, k, kernels::pad_k(k), group, codes, scale_data},
          code_bytes + (f.scale_kind == ScaleKind::kNone ? 0 : scale_bytes)};
}

void free_weights(const Weights& w) {
  munmap(const_cast<uint8_t*>(w.view.data),
         static_cast<size_t>(kernels::packed_bytes(w.view.format, w.view.n, w.view.k)));
}

struct Bench {
  Options options;
  const KernelTable& table;
  uint8_t* big;
  int64_t big_bytes;

  double bandwidth() const {
    const int64_t share = big_bytes / options.threads / 4096 * 4096;
    std::atomic<uint64_t> sum{0};
    const double s =
        timed(options.threads, [&](int i) { sum += read_bytes(big + i * share, share); });
    return static_cast<double>(share * options.threads) / s;
  }
  double peak(double (*unit)(int64_t)) const {
    std::atomic<double> operations{0};
    const double s = timed(options.threads, [&](int) { operations = unit(4'000'000); });
    return operations * options.threads / s;
  }

  double matmul_seconds(const Weights& w, bool bf16, int64_t m, const std::vector<float>& x,
                        std::vector<float>& y) const {
    const int64_t panels = kernels::panel_count(w.view.n);
    return timed(options.threads, [&](int i) {
      const MatmulArgs args{x.data(),
                            w.view.k,
                            nullptr,
                            m,
                            w.view,
                            panels * i / options.threads,
                            panels * (i + 1) / options.threads,
                            y.data(),
                            w.view.n};
      bf16 ? table.matmul_bf16(args) : table.matmul_f32(args);
    });
  }

  /// bf16 and float inputs alike: a float 1.0 is two small bf16 numbers.
  static std::vector<float> inputs(int64_t m, int64_t k) {
    return std::vector<float>(static_cast<size_t>(m * k), 1.0f);
  }

  void stream(const Format& f, bool bf16, int64_t m) const {
    const int64_t k = 4096;
    const double per_output = static_cast<double>(kernels::packed_bytes(f.format, 16, k)) / 16;
    const int64_t n =
        static_cast<int64_t>(static_cast<double>(options.mb) * 1e6 / per_output) / 64 * 64;
    const Weights w = make_weights(f, n, k);
    const std::vector<float> x = inputs(m, k);
    std::vector<float> y(static_cast<size_t>(m * n));
    double best = 1e9;
    double roof = 0;
    for (int i = 0; i < 7; ++i) {
      roof = std::max(roof, bandwidth());
      best = std::min(best, matmul_seconds(w, bf16, m, x, y));
    }
    const double rate = static_cast<double>(w.bytes) / best;
    std::printf("%-10s %s m %4lld  %8.2f ms  %6.1f GB/s of %6.1f  %5.1f %%\n", f.name,
                bf16 ? "bf16" : "f32 ", static_cast<long long>(m), best * 1e3, rate / 1e9,
                roof / 1e9, rate / roof * 100);
    free_weights(w);
  }

  void gemm(const Format& f, bool bf16, int64_t m, int64_t n, int64_t k,
            double (*unit)(int64_t)) const {
    const Weights w = make_weights(f, n, k);
    const std::vector<float> x = inputs(m, k);
    std::vector<float> y(static_cast<size_t>(m * n));
    double best = 1e9;
    double roof = 0;
    for (int i = 0; i < 5; ++i) {
      roof = std::max(roof, peak(unit));
      best = std::min(best, matmul_seconds(w, bf16, m, x, y));
    }
    const double rate = 2.0 * static_cast<double>(m * n * k) / best;
    std::printf("%-10s %s %4lld x %lld x %lld  %8.2f ms  %7.1f GFLOP/s of %7.1f  %5.1f %%\n",
                f.name, bf16 ? "bf16" : "f32 ", static_cast<long long>(m),
                static_cast<long long>(n), static_cast<long long>(k), best * 1e3, rate / 1e9,
                roof / 1e9, rate / roof * 100);
    free_weights(w);
  }

  /// The product alone; rows are quantised before.
  void gemm_i8(int64_t group, int64_t m, int64_t n, int64_t k) const {
    const Weights w = make_weights({"int8", WeightFormat::kInt8, ScaleKind::kF32, group}, n, k);
    const std::vector<int32_t> offsets(
        static_cast<size_t>(kernels::scale_count(n, kernels::pad_k(k), group)));
    const std::vector<float> x = inputs(m, k);
    std::vector<uint8_t> bytes(static_cast<size_t>(m * k));
    std::vector<float> scales(static_cast<size_t>(m * (k / group)));
    table.quantise_rows({x.data(), k, m, k, group, bytes.data(), k, scales.data(), k / group});
    std::vector<float> y(static_cast<size_t>(m * n));
    const int64_t panels = kernels::panel_count(n);
    double best = 1e9;
    double roof = 0;
    for (int i = 0; i < 5; ++i) {
      roof = std::max(roof, peak(run_vnni));
      best = std::min(best, timed(options.threads, [&](int t) {
                        table.matmul_i8({bytes.data(), k, scales.data(), k / group, nullptr, m,
                                         w.view, offsets.data(), panels * t / options.threads,
                                         panels * (t + 1) / options.threads, y.data(), n});
                      }));
    }
    const double rate = 2.0 * static_cast<double>(m * n * k) / best;
    std::printf("int8-g%-4lld i8   %4lld x %lld x %lld  %8.2f ms  %7.1f GOP/s of %7.1f  %5.1f %%\n",
                static_cast<long long>(group), static_cast<long long>(m), static_cast<long long>(n),
                static_cast<long long>(k), best * 1e3, rate / 1e9, roof / 1e9, rate / roof * 100);
    free_weights(w);
  }

  bool wanted(const std::string& what) const {
    return options.only.empty() || what.find(options.only) != std::string::npos;
  }

  void run(Isa isa) const {
    std::printf("%s, %d threads: %s / %s\n", isa_name(isa), options.threads, table.matmul_f32_name,
                table.matmul_bf16_name);
    std::printf("read %.1f GB/s; fma256 %.0f, fma512 %.0f, bf16 %.0f GFLOP/s, vnni %.0f GOP/s\n",
                bandwidth() / 1e9, peak(run_fma256) / 1e9, peak(run_fma512) / 1e9,
                peak(run_bf16) / 1e9, peak(run_vnni) / 1e9);
    for (int64_t group : {128, 1024})
      if (table.int8_inputs && wanted("i8 g" + std::to_string(group)))
        gemm_i8(group, 512, 4096, 4096);
    for (bool bf16 : {true, false}) {
      if (bf16 && !table.bf16_inputs) continue;
      const std::string kind = bf16 ? "bf16" : "f32";
      const auto unit = bf16 ? run_bf16 : isa >= Isa::kAvx512 ? run_fma512 : run_fma256;
      for (const Format& f : kFormats) {
        if (bf16 && f.format == WeightFormat::kF32) continue;
        for (int64_t m : {1, 2, 4, 8, 16})
          if (wanted(kind + " " + f.name + " m" + std::to_string(m) + " stream"))
            stream(f, bf16, m);
        for (int64_t m : {128, 512, 2048})
          if (wanted(kind + " " + f.name + " m" + std::to_string(m) + " gemm"))
            gemm(f, bf16, m, 4096, m == 512 ? 2048 : 4096, unit);
      }
    }
  }
};

int run_main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--threads") options.threads = std::atoi(argv[i + 1]);
    if (name == "--isa") options.isa = argv[i + 1];
    if (name == "--mb") options.mb = std::atoll(argv[i + 1]);
    if (name == "--only") options.only = argv[i + 1];
  }
  const Result<Isa> isa = choose_isa(options.isa);
  if (!isa.ok()) {
    std::fprintf(stderr, "%s\n", isa.status().message().c_str());
    return 3;
  }
  const int64_t big_bytes = options.mb * 1'000'000 / 8192 * 8192;
  uint8_t* big = allocate(big_bytes);
  std::memset(big, 1, static_cast<size_t>(big_bytes));
  Bench{options, kernels::kernel_table(isa.value()), big, big_bytes}.run(isa.value());
  return 0;
}

}  // namespace
}  // namespace trine::bench

int main(int argc, char** argv) { return trine::bench::run_main(argc, argv); }
