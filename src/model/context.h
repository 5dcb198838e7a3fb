// What every layer needs to run: threads, kernels, numeric choices. No state of a pass.
#pragma once

#include <algorithm>
#include <cstdint>

#include "checkpoint/config.h"
#include "kernels/table.h"
#include "model/int8_plan.h"
#include "platform/thread_pool.h"

namespace trine::model {

/// Rows that are inputs of matmuls: floats, their bf16 copies (zero-padded to a multiple of 32)
/// where the 16-bit unit is used, and their int8 copies (kernels: QuantiseRowsArgs) on the opt-in
/// int8 path. Each may be null when nobody reads it.
struct Rows {
  float* f32 = nullptr;
  uint16_t* bf16 = nullptr;
  int64_t stride = 0;       ///< floats
  int64_t bf16_stride = 0;  ///< bf16 values
  uint8_t* int8 = nullptr;
  float* int8_scales = nullptr;
  int64_t int8_stride = 0;        ///< bytes
  int64_t int8_scale_stride = 0;  ///< floats: one per group

  Rows from(int64_t row) const {
    Rows rows = *this;
    if (f32 != nullptr) rows.f32 += row * stride;
    if (bf16 != nullptr) rows.bf16 += row * bf16_stride;
    if (int8 != nullptr) rows.int8 += row * int8_stride;
    if (int8 != nullptr) rows.int8_scales += row * int8_scale_stride;
    return rows;
  }
};

struct Context {
  ThreadPool& pool;
  const kernels::KernelTable& table;
  const checkpoint::ModelConfig& config;
  bool bf16_inputs;    ///< matmuls of formats that are exact in bf16 take bf16 inputs
  Int8Plan int8 = {};  ///< matrices that take int8 inputs

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

  /// Every copy of one whole row of n values that lies in rows.f32.
  void store_row(const Rows& rows, int64_t row, int64_t n) const {
    store_bf16(rows, row, 0, n, true, rows.f32 + row * rows.stride);
    store_int8(rows, row, 1, n);
  }

  /// The int8 copies of rows [0, count) of n values, which lie in rows.f32: for rows that were
  /// written piece by piece.
  void quantise(const Rows& rows, int64_t count, int64_t n) const {
    if (rows.int8 == nullptr) return;
    for_rows(count, n,
             [&](int64_t begin, int64_t end, int) { store_int8(rows, begin, end - begin, n); });
  }

  void store_int8(const Rows& rows, int64_t row, int64_t count, int64_t n) const {
    if (rows.int8 == nullptr) return;
    const Rows from = rows.from(row);
    table.quantise_rows({from.f32, from.stride, count, n, int8.group, from.int8, from.int8_stride,
                         from.int8_scales, from.int8_scale_stride});
  }
};

}  // namespace trine::model
