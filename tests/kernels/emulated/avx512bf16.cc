// The avx512bf16 matmul over emulated instructions.
#include "kernels/avx512bf16/matmul.cc"  // NOLINT(bugprone-suspicious-include): a second time
