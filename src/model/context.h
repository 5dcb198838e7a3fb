// What every layer needs to run: threads, kernels, numeric choices. No state of a pass.
#pragma once

#include <algorithm>
#include <cstdint>

#include "checkpoint/config.h"
#include "kernels/table.h"
#include "platform/thread_pool.h"

namespace trine::model {

/// Rows that are inputs of matmuls: floats, and their bf16 copies (zero-padded to a multiple of 32)
/// where the 16-bit unit is used. Either may be null when nobody reads it.
struct Rows {
  float* f32 = nullptr;
  uint16_t* bf16 = nullptr;
  int64_t stride = 0;       ///< floats
  int64_t bf16_stride = 0;  ///< bf16 values

  Rows from(int64_t row) const {
    return {f32 != nullptr ? f32 + row * stride : nullptr,
            bf16 != nullptr ? bf16 + row * bf16_stride : nullptr, stride, bf16_stride};
  }
};

struct Context {
  ThreadPool& pool;
  const kernels::KernelTable& table;
  const checkpoint::ModelConfig& config;
  bool bf16_inputs;  ///< matmuls of formats that are exact in bf16 take bf16 inputs

  /// Work below this many values is done by the calling thread: cheaper than waking others.
  static constexpr int64_t kInlineValues = 16384;

  /// fn(row_begin, row_end, worker) over [0, rows); each row costs about `values` elementwise
  /// values.
  template <typename Fn>
  void for_rows(int64_t rows, int64_t values, Fn&& fn) const {
    if (rows * values <= kInlineValues || rows == 1) return fn(int64_t{0}, rows, 0);
    const int64_t tasks = std::min<int64_t>(rows, int64_t{4} * pool.threads());
    pool.parallel_for(tasks, [&](int64_t task, int worker) {
      fn(rows * task / tasks, rows * (task + 1) / tasks, worker);
    });
  }

  /// Writes one row's bf16 copy: values [begin, begin + n) of x, and with `last` the zeros behind
  /// them.
  void store_bf16(const Rows& rows, int64_t row, int64_t begin, int64_t n, bool last,
                  const float* x) const {
    if (rows.bf16 == nullptr) return;
    const int64_t padded = last ? rows.bf16_stride - begin : n;
    table.to_bf16({x, n, padded, rows.bf16 + row * rows.bf16_stride + begin});
  }
};

}  // namespace trine::model
