// A linear module in the layout of the kernels: how it will be packed (closed form), and packing
// it.
//
// A coding that the kernels know keeps its own width; anything rarer (zero points, activation
// order, odd groups) becomes F32, which is exact.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "kernels/args.h"
#include "trine/status.h"

namespace trine::model {

/// Which source rows become which outputs: part p, output i is source row p * stride + begin + i. A
/// part starts at a panel of its own, so that the heads of a module can be multiplied one by one.
struct RowSlices {
  int64_t parts = 1;
  int64_t rows = 0;
  int64_t begin = 0;
  int64_t stride = 0;
};

/// A packed matrix and whether it takes int8 inputs. MXFP4 becomes int8 while it is multiplied,
/// other weights have become so at load and then have `offsets` (kernels: MatmulI8Args).
struct Matrix : kernels::PackedView {
  bool int8_inputs = false;
  const int32_t* offsets = nullptr;
};

/// Packed weights of `parts` equal slices, one after another; view.n counts the panels' padding
/// between parts as outputs.
struct PackedLinear {
  Matrix view{};
  int64_t parts = 1;
  int64_t part_rows = 0;

  bool empty() const { return view.n == 0; }
  int64_t panels_per_part() const;
  int64_t panels() const { return parts * panels_per_part(); }
  /// One slice as a matrix of its own, [part_rows, k].
  Matrix part(int64_t index) const;
  int64_t code_bytes() const;
  int64_t scale_bytes() const;
  int64_t offset_bytes() const;
  int64_t bytes() const { return code_bytes() + scale_bytes() + offset_bytes(); }
};

/// Panels [begin, end) of a matrix as a matrix of its own.
Matrix panel_range(const Matrix& view, int64_t begin, int64_t end);
/// True for the formats that are exact in bf16 and so run on the 16-bit unit in fast precision.
bool format_allows_bf16(kernels::WeightFormat format);
/// Bytes of codes, scales and offsets of panels [begin, end).
int64_t panel_range_bytes(const Matrix& view, int64_t begin, int64_t end);

/// One module to be packed, and where.
struct PackItem {
  checkpoint::Linear linear;
  RowSlices slices;
  bool transposed = false;   ///< outputs and inputs swapped inside each part (absorbed MLA keys)
  int64_t int8_group = 0;    ///< int8 inputs with this k per scale, where the coding allows it
  bool by_value = false;     ///< de-quantised row by row, packed as BF16 (when exact), F32 or int8
  int64_t code_offset = 0;   ///< into the arena
  int64_t scale_offset = 0;  ///< offsets follow the scales
  PackedLinear* target = nullptr;
};

/// Chooses the layout of `item->target` from the coding; data pointers stay null.
void plan_packing(PackItem* item);

/// Scratch of one packing thread; grows to a few hundred KiB and is reused.
struct PackScratch {
  std::vector<uint8_t> codes;
  std::vector<uint8_t> scales;
  std::vector<float> values;
  std::vector<float> block_scales;
};

/// Reads and packs panels [begin, end) of the item into its target. Errors: kIo, and kCorrupt for a
/// scale that is NaN or infinite.
Status pack_panels(const checkpoint::Checkpoint& checkpoint, const PackItem& item, int64_t begin,
                   int64_t end, PackScratch* scratch);

}  // namespace trine::model
