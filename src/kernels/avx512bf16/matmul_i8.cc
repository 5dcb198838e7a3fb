// int8 matmul with vpdpbusd: unsigned inputs, signed weights as packed, exact integer sums per
// group, less 128 times the sum of the weights by an offset. Equal to the scalar kernel to the bit.
#include "kernels/avx512bf16/matmul_i8.h"

#include "kernels/avx512/zmm.h"

namespace trine::kernels {
namespace {

using blocked::kRowBytes;
using blocked::min64;

constexpr int64_t kRows = 84;          // rows of x in scratch
constexpr int64_t kBlockBytes = 1024;  // k of one block
constexpr int64_t kXStride = kBlockBytes + 64;

/// What vpdpbusd adds to. GCC keeps arrays of this in registers, but those of __m512i (8 x 64 bits)
/// in memory.
using Int32x16 = int32_t __attribute__((vector_size(64)));

/// R rows x P panels over the groups [group, group_end) of one block.
struct TileI8 {
  const uint8_t* x;
  const float* x_scales[28];  ///< of the rows, at `group`
  const uint8_t* w;           ///< at the block's first k
  int64_t panel_bytes;
  int64_t ahead;  ///< bytes to the next panels' block
  const int32_t* offsets;
  const float* scales;
  int64_t panel_scales;  ///< scales per panel
  int64_t group;
  int64_t group_end;
  int64_t group_words;
  int64_t words;
  float* y;
  int64_t y_stride;
  int64_t valid_last;
};

TRINE_INLINE void dot(Int32x16& sum, __m512i x, __m512i w) {
  sum = reinterpret_cast<Int32x16>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), x, w));
}

template <unsigned R, unsigned P>
using Sums = Int32x16[R][P];

/// Folds the sums of one group, number `at` of the block, into y.
template <unsigned R, unsigned P>
TRINE_INLINE void fold_group(const TileI8& t, int64_t at, const Sums<R, P>& sums) {
  TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
    const __m512 w_scale = _mm512_loadu_ps(t.scales + p * t.panel_scales + at * kPanelOutputs);
    const __m512i offset = _mm512_loadu_si512(t.offsets + p * t.panel_scales + at * kPanelOutputs);
    const __mmask16 lanes = Zmm::lanes(p + 1 == P ? t.valid_last : kPanelOutputs);
    TRINE_UNROLL for (unsigned r = 0; r < R; ++r) {
      float* place = t.y + r * t.y_stride + p * kPanelOutputs;
      __m512 total = _mm512_setzero_ps();
      if (t.group + at > 0) total = _mm512_maskz_loadu_ps(lanes, place);
      const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(t.x_scales[r][at]), w_scale);
      const __m512i sum = _mm512_add_epi32(reinterpret_cast<__m512i>(sums[r][p]), offset);
      total = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, total);
      _mm512_mask_storeu_ps(place, lanes, total);
    }
  }
}

template <unsigned R, unsigned P>
void tile_i8(const TileI8& t) {
  for (int64_t at = 0; at < t.group_end - t.group; ++at) {
    Sums<R, P> sums;
    TRINE_UNROLL for (unsigned r = 0; r < R; ++r) TRINE_UNROLL for (unsigned p = 0; p < P; ++p)
        sums[r][p] = Int32x16{};
    const int64_t end = min64((at + 1) * t.group_words, t.words);
    for (int64_t i = at * t.group_words; i < end; ++i) {
      __m512i weights[P];
      TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
        const uint8_t* row = t.w + p * t.panel_bytes + i * kRowBytes;
        Zmm::prefetch_far(row + t.ahead);
        weights[p] = _mm512_load_si512(row);
      }
      TRINE_UNROLL for (unsigned r = 0; r < R; ++r) {
        const __m512i word = _mm512_set1_epi32(Zmm::load_word(t.x + r * kXStride + i * 4));
        TRINE_UNROLL for (unsigned p = 0; p < P; ++p) dot(sums[r][p], word, weights[p]);
      }
    }
    fold_group<R, P>(t, at, sums);
  }
}

/// Few rows take four panels side by side, many take two, and 15..28 rows one (blocked_many.h says
/// why).
constexpr int64_t panels_for(int64_t rows) { return rows <= 4 ? 4 : rows <= 14 ? 2 : 1; }

template <unsigned R>
void tile_of(int64_t rows, int64_t panels, const TileI8& t) {
  if (rows != R) {
    if constexpr (R > 1) tile_of<R - 1>(rows, panels, t);
    return;
  }
  if constexpr (R <= 4) {
    if (panels == 4) return tile_i8<R, 4>(t);
  }
  if constexpr (R <= 14) {
    if (panels == 2) return tile_i8<R, 2>(t);
  }
  tile_i8<R, 1>(t);
}

struct PassI8 {
  const MatmulI8Args& a;
  uint8_t* scratch;
  int64_t row;
  int64_t rows;
  int64_t tile_rows;

  int64_t source(int64_t r) const { return a.x_rows != nullptr ? a.x_rows[row + r] : row + r; }

  /// All rows, panels [panel, panel + count), the block of k from `begin` to `end`.
  void panels(int64_t panel, int64_t count, int64_t begin, int64_t end) const {
    TileI8 t;
    t.panel_bytes = a.w.k_padded * kPanelOutputs;
    t.panel_scales = (a.w.k_padded + a.w.group - 1) / a.w.group * kPanelOutputs;
    t.w = a.w.data + panel * t.panel_bytes + begin * kPanelOutputs;
    t.ahead = count * t.panel_bytes;
    t.group = begin / a.w.group;
    t.group_end = (end + a.w.group - 1) / a.w.group;
    t.group_words = a.w.group / 4;
    t.words = (end - begin) / 4;
    const int64_t first_scale = panel * t.panel_scales + t.group * kPanelOutputs;
    t.offsets = a.offsets + first_scale;
    t.scales = static_cast<const float*>(a.w.scales) + first_scale;
    t.y_stride = a.y_stride;
    t.valid_last = blocked::valid_outputs(a.w, panel + count - 1);
    for (int64_t first = 0; first < rows; first += tile_rows) {
      const int64_t part = min64(tile_rows, rows - first);
      t.x = scratch + first * kXStride;
      t.y = a.y + (row + first) * a.y_stride + panel * kPanelOutputs;
      for (int64_t r = 0; r < part; ++r)
        t.x_scales[r] = a.x_scales + source(first + r) * a.x_scale_stride + t.group;
      tile_of<28>(part, count, t);
      t.ahead = 0;
    }
  }

  void run() const {
    const int64_t wide = panels_for(tile_rows);
    const int64_t step = kBlockBytes / a.w.group * a.w.group;
    for (int64_t begin = 0; begin < a.w.k_padded; begin += step) {
      const int64_t end = min64(begin + step, a.w.k_padded);
      for (int64_t r = 0; r < rows; ++r)
        memcpy(scratch + r * kXStride, a.x + source(r) * a.x_stride + begin,
               static_cast<size_t>(end - begin));
      int64_t panel = a.panel_begin;
      for (; panel + wide <= a.panel_end; panel += wide) panels(panel, wide, begin, end);
      for (; panel < a.panel_end; ++panel) panels(panel, 1, begin, end);
    }
  }
};

/// One group of one row: the largest magnitude, NaN if a value is not finite.
float largest(const float* x, int64_t count) {
  const __m512 infinity = _mm512_set1_ps(__builtin_inff());
  __m512 most = _mm512_setzero_ps();
  __mmask16 bad = 0;
  for (int64_t i = 0; i < count; i += 16) {
    const __m512 value =
        _mm512_abs_ps(_mm512_maskz_loadu_ps(Zmm::lanes(min64(count - i, 16)), x + i));
    bad = static_cast<__mmask16>(bad | _mm512_cmp_ps_mask(value, infinity, _CMP_NLT_UQ));
    most = _mm512_max_ps(most, value);
  }
  return bad != 0 ? __builtin_nanf("") : _mm512_reduce_max_ps(most);
}

/// 16 k: rounded, offset by 128, and the bytes of each word put in the order 0, 2, 1, 3.
__m128i quantise_16(const float* x, int64_t count, __m512 inverse) {
  const __m512 value = _mm512_maskz_loadu_ps(Zmm::lanes(count < 0 ? 0 : min64(count, 16)), x);
  const __m512i code = _mm512_cvtps_epi32(_mm512_mul_ps(value, inverse));
  const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_add_epi32(code, _mm512_set1_epi32(128)));
  const __m128i order = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  return _mm_shuffle_epi8(bytes, order);
}

}  // namespace

void avx512bf16::quantise_rows(const QuantiseRowsArgs& a) {
  const int64_t k_padded = pad_k(a.k);
  for (int64_t r = 0; r < a.rows; ++r) {
    const float* x = a.x + r * a.x_stride;
    uint8_t* y = a.y + r * a.y_stride;
    for (int64_t begin = 0; begin < k_padded; begin += a.group) {
      const float most = largest(x + begin, min64(a.group, a.k - begin));
      a.scales[r * a.scale_stride + begin / a.group] = most / 127.0f;
      const float quotient = 127.0f / most;
      const __m512 inverse = _mm512_set1_ps(quotient < __builtin_inff() ? quotient : 0.0f);
      const bool finite = most == most;
      for (int64_t k = begin; k < min64(begin + a.group, k_padded); k += 16) {
        const __m128i bytes = quantise_16(x + k, finite ? a.k - k : 0, inverse);
        memcpy(y + k, &bytes, sizeof bytes);
      }
    }
  }
}

void avx512bf16::matmul_i8(const MatmulI8Args& a) {
  alignas(64) uint8_t scratch[kRows * kXStride];
  if (a.m <= 0 || a.panel_begin >= a.panel_end) return;
  const int64_t blocks = (a.m + kRows - 1) / kRows;
  const int64_t step = (a.m + blocks - 1) / blocks;
  PassI8 pass{a, scratch, 0, 0, 0};
  for (; pass.row < a.m; pass.row += step) {
    pass.rows = min64(step, a.m - pass.row);
    const int64_t tiles = pass.rows <= 28 ? 1 : (pass.rows + 13) / 14;
    pass.tile_rows = (pass.rows + tiles - 1) / tiles;
    pass.run();
  }
}

}  // namespace trine::kernels
