// The avx512 matmul over emulated instructions.
#include "kernels/avx512/matmul.cc"  // NOLINT(bugprone-suspicious-include): a second time
