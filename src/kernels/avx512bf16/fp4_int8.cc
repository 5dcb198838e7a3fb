// MXFP4 to int8 with 16 outputs across the lanes: magnitudes from a table, brought to the group's
// scale by shifts that never cross a byte. Equal to the scalar kernel to the bit.
#include "kernels/avx512/zmm.h"
#include "kernels/fp4_int8_args.h"
#include "kernels/levels.h"
#include "kernels/table.h"

namespace trine::kernels {
namespace {

using blocked::kRowBytes;

constexpr int64_t kRowsPerBlock = kFp4Group / 8;  // panel rows of 32 k
constexpr int64_t kBlocksMax = kInt8GroupMax / kFp4Group;

/// The exponents of 32 k of all outputs; 0 where all codes are zero.
__m512i exponents_of(const uint8_t* words, const uint8_t* exponents) {
  __m512i any = _mm512_load_si512(words);
  for (int64_t row = 1; row < kRowsPerBlock; ++row)
    any = _mm512_or_si512(any, _mm512_load_si512(words + row * kRowBytes));
  const __mmask16 filled = _mm512_test_epi32_mask(any, _mm512_set1_epi32(0x77777777));
  return _mm512_maskz_cvtepu8_epi32(filled, Zmm::load_16_bytes(exponents));
}

/// How codes of 32 k come to the group's scale.
struct Shift {
  __m512i count;  ///< per 32-bit lane
  __m512i half;   ///< to round, in every byte
  __m512i keep;   ///< the bits of every byte that are its own

  Shift(__m512i most, __m512i exponents) {
    const __m512i everywhere = _mm512_set1_epi32(0x01010101);
    count = _mm512_sub_epi32(most, exponents);
    half = _mm512_srli_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), count), 1);
    half = _mm512_mullo_epi32(half, everywhere);
    keep = _mm512_mullo_epi32(_mm512_srlv_epi32(_mm512_set1_epi32(0xff), count), everywhere);
  }
};

/// Two codes in the low byte of every 16-bit lane become two int8 in that lane. kExact: no count is
/// above 3, so that no bit is lost and none reaches another byte.
template <bool kExact>
TRINE_INLINE __m512i decode(__m512i pairs, const Shift& shift) {
  const __m512i magnitudes = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, 8, 16, 24, 32, 48, 64, 96, 0, 8, 16, 24, 32, 48, 64, 96));
  const __m512i low = _mm512_and_si512(pairs, _mm512_set1_epi16(0x000f));
  const __m512i high = _mm512_and_si512(pairs, _mm512_set1_epi16(0x00f0));
  const __m512i codes = _mm512_or_si512(low, _mm512_slli_epi16(high, 4));
  __m512i value = _mm512_shuffle_epi8(magnitudes, codes);
  if constexpr (!kExact) value = _mm512_add_epi8(value, shift.half);
  value = _mm512_srlv_epi32(value, shift.count);
  if constexpr (!kExact) value = _mm512_and_si512(value, shift.keep);
  const __mmask64 negative = _mm512_test_epi8_mask(codes, _mm512_set1_epi8(8));
  return _mm512_mask_sub_epi8(value, negative, _mm512_setzero_si512(), value);
}

/// 128 times the sums of codes, in two chains.
struct Sums {
  __m512i first;
  __m512i second;
};

template <bool kExact>
void decode_block(const uint8_t* words, const Shift& shift, uint8_t* codes, Sums* sums) {
  const __m512i weight = _mm512_set1_epi8(-128);  // 128, as vpdpbusd takes it
  for (int64_t row = 0; row < kRowsPerBlock; ++row) {
    const __m512i word = _mm512_load_si512(words + row * kRowBytes);
    const __m512i first = decode<kExact>(word, shift);
    const __m512i second = decode<kExact>(_mm512_srli_epi16(word, 8), shift);
    _mm512_store_si512(codes + 2 * row * kRowBytes, first);
    _mm512_store_si512(codes + (2 * row + 1) * kRowBytes, second);
    sums->first = _mm512_dpbusd_epi32(sums->first, weight, first);
    sums->second = _mm512_dpbusd_epi32(sums->second, weight, second);
  }
}

/// One group of one panel.
void decode_group(const uint8_t* words, const uint8_t* exponents, int64_t blocks, uint8_t* codes,
                  float* scales, int32_t* offsets) {
  __m512i own[kBlocksMax];
  __m512i most = _mm512_setzero_si512();
  for (int64_t b = 0; b < blocks; ++b) {
    own[b] = exponents_of(words + b * kRowsPerBlock * kRowBytes, exponents + b * kPanelOutputs);
    most = _mm512_max_epi32(most, own[b]);
  }
  Sums sums{_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (int64_t b = 0; b < blocks; ++b) {
    const Shift shift(most, own[b]);
    const uint8_t* block = words + b * kRowsPerBlock * kRowBytes;
    uint8_t* out = codes + 2 * b * kRowsPerBlock * kRowBytes;
    const __mmask16 rounded = _mm512_cmpgt_epi32_mask(shift.count, _mm512_set1_epi32(3));
    if (rounded == 0)
      decode_block<true>(block, shift, out, &sums);
    else
      decode_block<false>(block, shift, out, &sums);
  }
  const __m512i sum = _mm512_add_epi32(sums.first, sums.second);
  _mm512_storeu_si512(offsets, _mm512_sub_epi32(_mm512_setzero_si512(), sum));
  const __m512i four = _mm512_set1_epi32(4);
  const __m512i bits = _mm512_maskz_sub_epi32(_mm512_cmpgt_epi32_mask(most, four), most, four);
  _mm512_storeu_si512(scales, _mm512_slli_epi32(bits, 23));
}

void int8_from_fp4(const Int8FromFp4Args& a) {
  const int64_t blocks = a.w.k_padded / kFp4Group;
  const int64_t step = a.group / kFp4Group;
  const uint8_t* words = a.w.data + a.panel_begin * blocks * kRowsPerBlock * kRowBytes;
  const auto* exponents =
      static_cast<const uint8_t*>(a.w.scales) + a.panel_begin * blocks * kPanelOutputs;
  uint8_t* codes = a.codes;
  float* scales = a.scales;
  int32_t* offsets = a.offsets;
  for (int64_t panel = a.panel_begin; panel < a.panel_end; ++panel) {
    for (int64_t done = 0; done < blocks; done += step) {
      const int64_t count = blocked::min64(step, blocks - done);
      decode_group(words, exponents, count, codes, scales, offsets);
      words += count * kRowsPerBlock * kRowBytes;
      exponents += count * kPanelOutputs;
      codes += 2 * count * kRowsPerBlock * kRowBytes;
      scales += kPanelOutputs;
      offsets += kPanelOutputs;
    }
  }
}

}  // namespace

void fill_avx512bf16_int8(KernelTable& table) { table.int8_from_fp4 = int8_from_fp4; }

}  // namespace trine::kernels
