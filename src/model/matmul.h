// Several matrix products over one set of threads with one barrier.
//
// Every worker owns a fixed share of the panels of each matrix (the share it packed at load) cut
// into tasks that others may steal. Which worker runs a task never changes a bit: an output element
// is one chain of operations inside one kernel call (docs/design/numerics.md).
#pragma once

#include <cstdint>
#include <vector>

#include "model/context.h"
#include "model/packed_linear.h"

namespace trine::model {

/// y = x W^T, or with `up` y = act(x W^T, x Up^T) (spec section 2), for `m` rows.
struct MatmulJob {
  kernels::PackedView w{};
  kernels::PackedView up{};  ///< n = 0: none
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
  /// Runs all jobs; `scratch(worker)` has kMatmulScratchFloats floats. Clears the list.
  template <typename Scratch>
  void run(const Context& context, const Scratch& scratch) {
    const int64_t tasks = prepare(context.pool.threads());
    if (is_small()) {
      for (int64_t task = 0; task < tasks; ++task) run_task(context, task, scratch(0));
    } else {
      context.pool.parallel_for(
          tasks, [&](int64_t task, int worker) { run_task(context, task, scratch(worker)); });
    }
    clear();
  }

 private:
  int64_t prepare(int workers);
  bool is_small() const;
  void run_task(const Context& context, int64_t task, float* scratch) const;

  std::vector<MatmulJob> jobs_;
  std::vector<int64_t> first_task_;  ///< of each job inside a worker's share; one more at the end
  int workers_ = 1;
};

/// Rows of a fused gate-and-up task that are kept between the products and the activation.
constexpr int64_t kMatmulRowBlock = 64;
constexpr int64_t kMatmulPanelsMax = 16;
constexpr int64_t kMatmulScratchFloats =
    2 * kMatmulRowBlock * kMatmulPanelsMax * kernels::kPanelOutputs;

/// One product on the calling thread: the kernel that the precision and the format ask for. y has
/// columns [0, w.n). `x` needs the copy that takes_bf16() names.
void matmul(const Context& context, const kernels::PackedView& w, const Rows& x,
            const int32_t* x_rows, int64_t m, float* y, int64_t y_stride, bool fp32 = false);
/// True when products with this matrix read the bf16 copies.
bool takes_bf16(const Context& context, const kernels::PackedView& w);

}  // namespace trine::model
