// The AVX-512 kernels of KDA with every instruction emulated (immintrin.h of this folder).
#define avx512 avx512_emulated
#include "kernels/avx512/kda.cc"  // NOLINT(bugprone-suspicious-include): compiled again
