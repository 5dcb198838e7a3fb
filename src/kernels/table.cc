// The tables of all levels, each a copy of the one below with its own kernels on top.
#include "kernels/table.h"

#include <array>
#include <cstddef>

#include "kernels/levels.h"
#include "platform/cpu.h"

namespace trine::kernels {
namespace {

constexpr size_t kLevels = 5;

std::array<KernelTable, kLevels> build_tables() {
  std::array<KernelTable, kLevels> tables{};
  fill_scalar_matmul(tables[0]);
  fill_scalar_ops(tables[0]);
  fill_scalar_int8(tables[0]);
  tables[1] = tables[0];
  fill_avx2_matmul(tables[1]);
  fill_avx2_ops(tables[1]);
  tables[2] = tables[1];
  fill_avx512_matmul(tables[2]);
  fill_avx512_ops(tables[2]);
  tables[3] = tables[2];
  fill_avx512bf16_matmul(tables[3]);
  fill_avx512bf16_ops(tables[3]);
  fill_avx512bf16_int8(tables[3]);
  tables[4] = tables[3];
  fill_amx_matmul(tables[4]);
  return tables;
}

}  // namespace

const KernelTable& kernel_table(Isa isa) {
  static const std::array<KernelTable, kLevels> tables = build_tables();
  return tables[static_cast<size_t>(isa)];
}

}  // namespace trine::kernels
