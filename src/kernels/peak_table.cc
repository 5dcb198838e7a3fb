// Peak loops of all levels, each level on top of the one below.
#include "kernels/peak_table.h"

#include <array>
#include <cstddef>

namespace trine::kernels {
namespace {

constexpr size_t kLevels = 5;

std::array<PeakTable, kLevels> build_tables() {
  std::array<PeakTable, kLevels> tables{};
  fill_scalar_peaks(tables[0]);
  tables[1] = tables[0];
  fill_avx2_peaks(tables[1]);
  tables[2] = tables[1];
  fill_avx512_peaks(tables[2]);
  tables[3] = tables[2];
  fill_avx512bf16_peaks(tables[3]);
  tables[4] = tables[3];
  fill_amx_peaks(tables[4]);
  return tables;
}

}  // namespace

const PeakTable& peak_table(Isa isa) {
  static const std::array<PeakTable, kLevels> tables = build_tables();
  return tables[static_cast<size_t>(isa)];
}

}  // namespace trine::kernels
