// The BF16 unit on 512-bit registers, and how each weight format becomes pairs of bf16, exactly.
#pragma once

#include "kernels/avx512/zmm.h"
#include "kernels/avx512bf16/decode.h"

namespace trine::kernels {
namespace {

struct Bf16Unit : Zmm {
  using Word = __m512i;
  using Coding = blocked::Coding;
  using Extra = MxScale;
  static constexpr unsigned kKPerWord = 2;

  static Word broadcast(const uint8_t* p) { return _mm512_set1_epi32(load_word(p)); }
  static Vec madd(Word w, Word x, Vec acc) {
    return _mm512_dpbf16_ps(acc, reinterpret_cast<__m512bh>(w), reinterpret_cast<__m512bh>(x));
  }
  static void load_panel(const uint8_t* p, Word (&out)[1]) { out[0] = _mm512_load_si512(p); }
  static void store_panel(uint8_t* p, const Word (&v)[1]) { _mm512_store_si512(p, v[0]); }
  static void copy_x(const uint16_t* x, int64_t count, uint8_t* out) {
    memcpy(out, x, static_cast<size_t>(count) * sizeof(uint16_t));
  }
  static MxScale mx_scale(const uint8_t* p) { return load_mx_scale(p); }

  static void run_tile(int64_t rows, int64_t panels, const blocked::Tile& t) {
    blocked::tile_of<Bf16Unit, kTallRows>(rows, panels, t);
  }

  template <Coding C, unsigned N>
  TRINE_INLINE static void decode(const uint8_t* p, const Extra& extra, Word (&out)[N][1]) {
    const __m512i row = _mm512_load_si512(p);
    __m512i pairs[N];
    decode_pairs<C>(row, extra, pairs);
    TRINE_UNROLL for (unsigned i = 0; i < N; ++i) out[i][0] = pairs[i];
  }
};

}  // namespace
}  // namespace trine::kernels
