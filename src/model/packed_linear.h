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

/// Packed weights of `parts` equal slices, one after another; view.n counts the panels' padding
/// between parts as outputs.
struct PackedLinear {
  kernels::PackedView view{};
  int64_t parts = 1;
  int64_t part_rows = 0;

  bool empty() const { return view.n == 0; }
  int64_t panels_per_part() const;
  int64_t panels() const { return parts * panels_per_part(); }
  /// One slice as a matrix of its own, [part_rows, k].
  kernels::PackedView part(int64_t index) const;
  int64_t code_bytes() const;
  int64_t scale_bytes() const;
  int64_t bytes() const { return code_bytes() + scale_bytes(); }
};

/// Panels [begin, end) of a matrix as a matrix of its own.
kernels::PackedView panel_range(const kernels::PackedView& view, int64_t begin, int64_t end);
/// True for the formats that are exact in bf16 and so run on the 16-bit unit in fast precision.
bool format_allows_bf16(kernels::WeightFormat format);
/// Bytes of codes and scales of panels [begin, end).
int64_t panel_range_bytes(const kernels::PackedView& view, int64_t begin, int64_t end);

/// One module to be packed, and where.
struct PackItem {
  checkpoint::Linear linear;
  RowSlices slices;
  bool transposed = false;  ///< outputs and inputs swapped inside each part (absorbed MLA keys)
  bool by_value = false;    ///< de-quantised row by row, packed as BF16 (when exact) or F32
  int64_t code_offset = 0;  ///< into the arena
  int64_t scale_offset = 0;
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
