// The fp32 unit on 256-bit registers: two registers are one row of a panel.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/args.h"
#include "kernels/avx2/decode.h"
#include "kernels/blocked_tile.h"

namespace trine::kernels {
namespace {

struct F32Unit {
  using Vec = __m256;
  using Word = __m256;
  using Coding = blocked::Coding;
  struct Extra {};
  static constexpr unsigned kVecs = 2;
  static constexpr unsigned kKPerWord = 1;
  static constexpr unsigned kRows = 6;
  static constexpr unsigned kTallRows = 6;
  static constexpr unsigned kPanels = 1;
  static constexpr int64_t kBlockRows = 96;
  static constexpr int64_t kRowMultiple = 1;
  static constexpr int64_t kWordMultiple = 1;
  /// Panels side by side for R rows: 8 or 12 chains of the 16 registers.
  template <unsigned R>
  static constexpr unsigned kFewPanels = R == 1   ? 4
                                         : R == 2 ? 2
                                                  : 1;

  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec madd(Word w, Word x, Vec acc) { return _mm256_fmadd_ps(x, w, acc); }
  static Word broadcast(const uint8_t* p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return _mm256_castsi256_ps(_mm256_set1_epi32(word));
  }
  static void load_f32(const uint8_t* p, Vec (&out)[2]) {
    out[0] = _mm256_castsi256_ps(load_ints(p));
    out[1] = _mm256_castsi256_ps(load_ints(p + 32));
  }
  static void load_panel(const uint8_t* p, Word (&out)[2]) { load_f32(p, out); }
  static void store_panel(uint8_t* p, const Word (&v)[2]) {
    memcpy(p, &v[0], sizeof v[0]);
    memcpy(p + 32, &v[1], sizeof v[1]);
  }
  /// Bytes e as 2^(e-127); e = 0 is subnormal.
  static void load_e8m0(const uint8_t* p, Vec (&out)[2]) {
    out[0] = e8m0(p);
    out[1] = e8m0(p + 8);
  }
  static void load_floats(const float* p, Vec (&out)[2], int64_t valid) {
    out[0] = _mm256_maskload_ps(p, lanes(valid));
    out[1] = _mm256_maskload_ps(p + 8, lanes(valid - 8));
  }
  static void store_floats(float* p, const Vec (&v)[2], int64_t valid) {
    if (valid == kPanelOutputs) {
      _mm256_storeu_ps(p, v[0]);
      _mm256_storeu_ps(p + 8, v[1]);
      return;
    }
    _mm256_maskstore_ps(p, lanes(valid), v[0]);
    _mm256_maskstore_ps(p + 8, lanes(valid - 8), v[1]);
  }
  TRINE_INLINE static void prefetch(const uint8_t* p) { _mm_prefetch(p, _MM_HINT_T0); }
  TRINE_INLINE static void prefetch_far(const uint8_t* p) { _mm_prefetch(p, _MM_HINT_T1); }

  static void copy_x(const float* x, int64_t count, uint8_t* out) {
    memcpy(out, x, static_cast<size_t>(count) * sizeof(float));
  }
  static void copy_x(const uint16_t* x, int64_t count, uint8_t* out) {
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t wide = static_cast<uint32_t>(x[i]) << 16;
      memcpy(out + i * 4, &wide, sizeof wide);
    }
  }

  static void run_tile(int64_t rows, int64_t panels, const blocked::Tile& t) {
    blocked::tile_of<F32Unit, kTallRows>(rows, panels, t);
  }

  template <Coding C, unsigned N>
  TRINE_INLINE static void decode(const uint8_t* p, const Extra&, Word (&out)[N][2]) {
    TRINE_UNROLL for (unsigned half = 0; half < 2; ++half) {
      __m256 words[N];
      F32Decode::decode_half<C>(load_ints(p + half * 32), words);
      TRINE_UNROLL for (unsigned i = 0; i < N; ++i) out[i][half] = words[i];
    }
  }

 private:
  static __m256i load_ints(const uint8_t* p) {
    __m256i v;
    memcpy(&v, p, sizeof v);
    return v;
  }
  /// All ones in the first `valid` lanes; valid may be outside 0..8.
  static __m256i lanes(int64_t valid) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(valid)), index);
  }
  static Vec e8m0(const uint8_t* p) {
    int64_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    const __m256i e = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes));
    const __m256i least = _mm256_set1_epi32(0x00400000);
    return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_slli_epi32(e, 23), least));
  }
};

}  // namespace
}  // namespace trine::kernels
