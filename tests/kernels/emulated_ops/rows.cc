// The AVX-512 kernels of norms, sums, gates and bf16 with every instruction emulated (immintrin.h
// of this folder).
#define avx512 avx512_emulated
#include "kernels/avx512/rows.cc"  // NOLINT(bugprone-suspicious-include): compiled again
