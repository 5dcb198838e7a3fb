// Several matrix products over one set of threads with one barrier.
//
// Every worker owns a fixed share of the panels of each matrix (the share it packed at load) cut
// into tasks that others may steal. Which worker runs a task never changes a bit: an output element
// is one chain of operations inside one kernel call (docs/design/numerics.md).
#pragma once

#include <cstdint>
#include <vector>

#include "model/carver.h"
#include "model/context.h"
#include "model/packed_linear.h"

namespace trine::model {

/// y = x W^T, or with `up` y = act(x W^T, x Up^T) (spec section 2), for `m` rows.
struct MatmulJob {
  Matrix w{};
  Matrix up{};  ///< n = 0: none
  Rows x;
  const int32_t* x_rows = nullptr;  ///< row r reads x row x_rows[r]; null: r
  int64_t m = 0;
  Rows y;             ///< floats, bf16 copies, or both
  bool fp32 = false;  ///< the router: fp32 inputs in every precision
};

class MatmulList {
 public:
  /// `jobs_max` jobs at a time; nothing is allocated later.
  explicit MatmulList(int64_t jobs_max);

  void clear() { jobs_.clear(); }
  void add(const MatmulJob& job);
  /// Runs all jobs; `scratch.carve(worker)` has MatmulScratch::bytes(). Clears the list.
  template <typename Scratch>
  void run(const Context& context, const Scratch& scratch) {
    const int64_t tasks = prepare(context.pool.threads());
    if (is_small()) {
      for (int64_t task = 0; task < tasks; ++task) run_task(context, task, scratch.carve(0));
    } else {
      context.pool.parallel_for(
          tasks, [&](int64_t task, int worker) { run_task(context, task, scratch.carve(worker)); });
    }
    clear();
  }

 private:
  int64_t prepare(int workers);
  bool is_small() const;
  void run_task(const Context& context, int64_t task, Carver scratch) const;

  std::vector<MatmulJob> jobs_;
  std::vector<int64_t> first_task_;  ///< of each job inside a worker's share; one more at the end
  int workers_ = 1;
};

/// Rows of a task at most, and panels of one that keeps its results in scratch.
constexpr int64_t kMatmulRowBlock = 64;
constexpr int64_t kMatmulPanelsMax = 32;
constexpr int64_t kFp4PanelsMax = 4;  ///< of MXFP4 that are int8 at a time

/// Scratch of a worker: results of a fused task, and MXFP4 panels as int8.
struct MatmulScratch {
  float* gate;       ///< [kMatmulRowBlock][kMatmulPanelsMax * 16]
  float* up;         ///< the same
  uint8_t* codes;    ///< what kernels::Int8FromFp4Args writes for kFp4PanelsMax panels; else null
  float* scales;     ///< the same
  int32_t* offsets;  ///< the same

  MatmulScratch(Carver& carver, const Int8Plan& int8);
  static int64_t bytes(const Int8Plan& int8);
};

/// One product on the calling thread: the kernel that the precision and the format ask for. y has
/// columns [0, w.n). `x` needs the copy that takes_bf16() names, or the int8 copy; `scratch` is
/// needed for MXFP4 that takes int8 inputs.
void matmul(const Context& context, const Matrix& w, const Rows& x, const int32_t* x_rows,
            int64_t m, float* y, int64_t y_stride, bool fp32 = false,
            const MatmulScratch* scratch = nullptr);
/// True when products with this matrix read the bf16 copies.
bool takes_bf16(const Context& context, const Matrix& w);

}  // namespace trine::model
