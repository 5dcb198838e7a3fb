// The VNNI matmul over emulated instructions.
#include "kernels/avx512bf16/matmul_i8.cc"  // NOLINT(bugprone-suspicious-include): a second time
