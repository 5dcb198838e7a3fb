// Matmul as the numerics contract states it (args.h), one output at a time: the specification that
// every other level is tested against. fmaf is exact also where the CPU has no such instruction.
#include <math.h>

#include "kernels/levels.h"
#include "kernels/pack.h"
#include "kernels/scalar/matmul_i8.h"
#include "kernels/table.h"
#include "tensor/float_formats.h"

namespace trine::kernels {
namespace {

constexpr int64_t kBlock = 256;  // weights of one output decoded at a time

/// The codes [k_begin, k_end) of one output, without scale.
void decode(const PackedView& w, int64_t output, int64_t k_begin, int64_t k_end, float* out) {
  for (int64_t k = k_begin; k < k_end; ++k) out[k - k_begin] = unpack_code(w, output, k);
}

float load(const float* x) { return *x; }
float load(const uint16_t* x) { return bf16_to_float(*x); }

/// Rows are handled in fours so that a decoded weight serves several; each row has a chain of its
/// own.
template <typename X, unsigned kRows>
void dot_rows(const MatmulArgs& a, int64_t first_row, int64_t output) {
  const PackedView& w = a.w;
  const bool scaled = w.scale_kind != ScaleKind::kNone;
  const int64_t group = scaled ? w.group : w.k_padded;
  const X* x[kRows];
  for (unsigned r = 0; r < kRows; ++r) {
    const int64_t row = first_row + r;
    x[r] = static_cast<const X*>(a.x) + (a.x_rows != nullptr ? a.x_rows[row] : row) * a.x_stride;
  }
  float total[kRows] = {};
  for (int64_t begin = 0; begin < w.k; begin += group) {
    const int64_t end = begin + group < w.k ? begin + group : w.k;
    float chain[kRows] = {};
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t stop = at + kBlock < end ? at + kBlock : end;
      float weights[kBlock];
      decode(w, output, at, stop, weights);
      for (int64_t k = at; k < stop; ++k)
        for (unsigned r = 0; r < kRows; ++r)
          chain[r] = fmaf(load(x[r] + k), weights[k - at], chain[r]);
    }
    const float scale = scaled ? unpack_scale(w, output, begin) : 1.0f;
    for (unsigned r = 0; r < kRows; ++r)
      total[r] = scaled ? fmaf(scale, chain[r], total[r]) : chain[r];
  }
  for (unsigned r = 0; r < kRows; ++r) a.y[(first_row + r) * a.y_stride + output] = total[r];
}

template <typename X>
void matmul(const MatmulArgs& a) {
  const int64_t begin = a.panel_begin * kPanelOutputs;
  const int64_t end = a.panel_end * kPanelOutputs < a.w.n ? a.panel_end * kPanelOutputs : a.w.n;
  int64_t row = 0;
  for (; row + 4 <= a.m; row += 4)
    for (int64_t output = begin; output < end; ++output) dot_rows<X, 4>(a, row, output);
  for (; row < a.m; ++row)
    for (int64_t output = begin; output < end; ++output) dot_rows<X, 1>(a, row, output);
}

}  // namespace

void fill_scalar_matmul(KernelTable& table) {
  table.bf16_inputs = false;
  table.matmul_f32_name = "scalar f32";
  table.matmul_bf16_name = "scalar f32 chain over bf16";
  table.matmul_f32 = matmul<float>;
  table.matmul_bf16 = matmul<uint16_t>;
  table.matmul_i8_name = "scalar int8";
  table.quantise_rows = scalar::quantise_rows;
  table.matmul_i8 = scalar::matmul_i8;
}

}  // namespace trine::kernels
