// What each level's folder provides: functions that overwrite entries of the table inherited from
// below.
#pragma once

#include "kernels/table.h"

namespace trine::kernels {

void fill_scalar_matmul(KernelTable& table);
void fill_scalar_ops(KernelTable& table);
void fill_scalar_int8(KernelTable& table);

void fill_avx2_matmul(KernelTable& table);
void fill_avx2_ops(KernelTable& table);

void fill_avx512_matmul(KernelTable& table);
void fill_avx512_ops(KernelTable& table);

void fill_avx512bf16_matmul(KernelTable& table);
void fill_avx512bf16_ops(KernelTable& table);
void fill_avx512bf16_int8(KernelTable& table);

void fill_amx_matmul(KernelTable& table);

}  // namespace trine::kernels
