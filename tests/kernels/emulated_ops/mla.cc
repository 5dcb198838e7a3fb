// The AVX-512 kernels of MLA with every instruction emulated (immintrin.h of this folder).
#define avx512 avx512_emulated
#include "kernels/avx512/mla.cc"  // NOLINT(bugprone-suspicious-include): compiled again
