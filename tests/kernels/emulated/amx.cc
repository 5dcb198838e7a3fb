// The amx matmul over emulated instructions.
#define TRINE_AMX_TWIN
#include "kernels/amx/matmul.cc"  // NOLINT(bugprone-suspicious-include): a second time
