// Packing: blocks of source rows are read by position and turned into panels, scales beside them.
#include "model/packed_linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/try.h"
#include "kernels/fp4_int8_args.h"
#include "kernels/pack.h"
#include "tensor/float_formats.h"

namespace trine::model {

using checkpoint::Linear;
using checkpoint::WeightCoding;
using kernels::kPanelOutputs;
using kernels::PackedView;
using kernels::ScaleKind;
using kernels::WeightFormat;

namespace {

constexpr int64_t kReadBytes = int64_t{256} << 10;  // stays in the second-level cache until packed

int64_t scale_element_bytes(ScaleKind kind) {
  return kind == ScaleKind::kNone ? 0 : kind == ScaleKind::kE8m0 ? 1 : 4;
}

int64_t group_count(const PackedView& view) {
  return (view.k_padded + view.group - 1) / view.group;
}

std::optional<WeightFormat> format_of(const Linear& linear) {
  switch (linear.coding) {
    case WeightCoding::kPlain:
      switch (linear.codes->dtype) {
        case DType::kF32: return WeightFormat::kF32;
        case DType::kF16: return WeightFormat::kF16;
        case DType::kBf16: return WeightFormat::kBf16;
        case DType::kF8E4M3: return WeightFormat::kE4m3;
        case DType::kF8E5M2: return WeightFormat::kE5m2;
        default: return std::nullopt;
      }
    case WeightCoding::kMxfp4:
    case WeightCoding::kNvfp4: return WeightFormat::kE2m1;
    case WeightCoding::kInt4: return WeightFormat::kInt4;
    case WeightCoding::kInt8Packed:
    case WeightCoding::kInt8: return WeightFormat::kInt8;
    case WeightCoding::kFp8:
    case WeightCoding::kMxfp8: return WeightFormat::kE4m3;
  }
  return std::nullopt;
}

ScaleKind scale_kind_of(WeightCoding coding) {
  if (coding == WeightCoding::kPlain) return ScaleKind::kNone;
  const bool mx = coding == WeightCoding::kMxfp4 || coding == WeightCoding::kMxfp8;
  return mx ? ScaleKind::kE8m0 : ScaleKind::kF32;
}

/// Values survive a rounding to bf16, so a transposed copy may be BF16.
bool exact_in_bf16(const Linear& linear) {
  if (linear.coding != WeightCoding::kPlain) return false;
  const DType dtype = linear.codes->dtype;
  return dtype == DType::kBf16 || dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}

float scale_value(DType dtype, const uint8_t* bytes, int64_t index) {
  uint16_t half = 0;
  float value = 0;
  switch (dtype) {
    case DType::kF32: std::memcpy(&value, bytes + index * 4, 4); return value;
    case DType::kBf16: std::memcpy(&half, bytes + index * 2, 2); return bf16_to_float(half);
    case DType::kF16: std::memcpy(&half, bytes + index * 2, 2); return f16_to_float(half);
    case DType::kF8E4M3: return e4m3_to_float(bytes[index]);
    case DType::kF8E5M2: return e5m2_to_float(bytes[index]);
    default: return e8m0_to_float(bytes[index]);
  }
}

/// Panels [begin, end) of one part and the source rows they hold.
struct Run {
  int64_t part;
  int64_t panel;  ///< absolute first panel
  int64_t panels;
  int64_t source_row;
  int64_t rows;  ///< valid source rows
};

template <typename Fn>
Status for_each_run(const PackItem& item, int64_t begin, int64_t end, int64_t panels_max, Fn&& fn) {
  const int64_t per_part = item.target->panels_per_part();
  for (int64_t panel = begin; panel < end;) {
    const int64_t part = panel / per_part;
    const int64_t within = panel - part * per_part;
    const int64_t panels = std::min({end - panel, per_part - within, panels_max});
    const int64_t first = within * kPanelOutputs;
    const int64_t rows = std::min(panels * kPanelOutputs, item.target->part_rows - first);
    const int64_t source = part * item.slices.stride + item.slices.begin + first;
    TRINE_RETURN_IF_ERROR(fn(Run{part, panel, panels, source, rows}));
    panel += panels;
  }
  return {};
}

uint8_t* panel_data(const PackItem& item, int64_t panel) {
  const PackedView& view = item.target->view;
  return const_cast<uint8_t*>(view.data) + panel * kernels::panel_bytes(view.format, view.k_padded);
}

Status pack_codes(const checkpoint::Checkpoint& checkpoint, const PackItem& item, const Run& run,
                  PackScratch* scratch) {
  const Linear& linear = item.linear;
  const int64_t row_bytes = linear.codes->bytes / linear.out;
  scratch->codes.resize(static_cast<size_t>(run.rows * row_bytes));
  TRINE_RETURN_IF_ERROR(checkpoint.read(*linear.codes, run.source_row * row_bytes,
                                        scratch->codes.data(), run.rows * row_bytes));
  for (int64_t i = 0; i < run.panels; ++i) {
    const int64_t first = i * kPanelOutputs;
    kernels::pack_panel({.format = item.target->view.format,
                         .rows = scratch->codes.data() + first * row_bytes,
                         .row_bytes = row_bytes,
                         .outputs = std::min(kPanelOutputs, run.rows - first),
                         .k = item.target->view.k,
                         .flip_sign = linear.coding == WeightCoding::kInt8Packed,
                         .out = panel_data(item, run.panel + i)});
  }
  return {};
}

Status bad_scale(const Linear& linear, int64_t row, int64_t group) {
  return {Code::kCorrupt,
          linear.scales->name + ": the scale of row " + std::to_string(row) + ", group " +
              std::to_string(group) +
              " is NaN or infinite, expected a finite number; download the file again"};
}

/// Scales lie in the file as [rows / group_out][groups], in the panels as [group][16].
Status pack_scales(const checkpoint::Checkpoint& checkpoint, const PackItem& item, const Run& run,
                   PackScratch* scratch) {
  const Linear& linear = item.linear;
  const PackedView& view = item.target->view;
  const checkpoint::TensorInfo& tensor = *linear.scales;
  const int64_t row_groups = (linear.out + linear.group_out - 1) / linear.group_out;
  const int64_t source_groups = tensor.elements() / row_groups;
  const int64_t element = dtype_bytes(tensor.dtype);
  const int64_t first = run.source_row / linear.group_out;
  const int64_t last = (run.source_row + run.rows - 1) / linear.group_out;
  const int64_t bytes = (last - first + 1) * source_groups * element;
  scratch->scales.resize(static_cast<size_t>(bytes));
  TRINE_RETURN_IF_ERROR(
      checkpoint.read(tensor, first * source_groups * element, scratch->scales.data(), bytes));
  float divisor = 1.0f;
  if (linear.global_scale != nullptr) {
    TRINE_RETURN_IF_ERROR(checkpoint.read_floats(linear.global_scale->name, &divisor, 1));
  }
  const int64_t groups = group_count(view);
  const int64_t panel_scales = groups * kPanelOutputs;
  auto* out_bytes = static_cast<uint8_t*>(const_cast<void*>(view.scales)) +
                    run.panel * panel_scales * scale_element_bytes(view.scale_kind);
  auto* out_floats = reinterpret_cast<float*>(out_bytes);
  for (int64_t i = 0; i < run.rows; ++i) {
    const int64_t row = run.source_row + i;
    const uint8_t* source =
        scratch->scales.data() + (row / linear.group_out - first) * source_groups * element;
    const int64_t base = (i / kPanelOutputs) * panel_scales + i % kPanelOutputs;
    for (int64_t g = 0; g < std::min(groups, source_groups); ++g) {
      const int64_t place = base + g * kPanelOutputs;
      if (view.scale_kind == ScaleKind::kE8m0) {
        if (source[g] == 255) return bad_scale(linear, row, g);
        out_bytes[place] = source[g];
        continue;
      }
      const float scale = scale_value(tensor.dtype, source, g) / divisor;
      if (!std::isfinite(scale)) return bad_scale(linear, row, g);
      out_floats[place] = scale;
    }
  }
  return {};
}

/// Rounds one panel of floats [outputs][k] to int8; its scales and offsets beside it.
void pack_int8(const PackItem& item, int64_t panel, const float* values, int64_t outputs) {
  const Matrix& view = item.target->view;
  const int64_t scales = group_count(view) * kPanelOutputs;
  const auto* first_scale = static_cast<const float*>(view.scales);
  kernels::quantise_panel_int8({.rows = values,
                                .row_stride = view.k,
                                .outputs = outputs,
                                .k = view.k,
                                .group = view.group,
                                .codes = panel_data(item, panel),
                                .scales = const_cast<float*>(first_scale) + panel * scales,
                                .offsets = const_cast<int32_t*>(view.offsets) + panel * scales});
}

/// Packs one panel of floats [outputs][k] as F32, BF16 or int8.
void pack_values(const PackItem& item, int64_t panel, const float* values, int64_t outputs,
                 PackScratch* scratch) {
  const PackedView& view = item.target->view;
  if (view.format == WeightFormat::kInt8) return pack_int8(item, panel, values, outputs);
  const int64_t count = outputs * view.k;
  const auto* rows = reinterpret_cast<const uint8_t*>(values);
  int64_t row_bytes = view.k * 4;
  if (view.format == WeightFormat::kBf16) {
    row_bytes = view.k * 2;
    scratch->codes.resize(static_cast<size_t>(count * 2));
    for (int64_t i = 0; i < count; ++i) {
      const uint16_t half = float_to_bf16(values[i]);
      std::memcpy(scratch->codes.data() + i * 2, &half, 2);
    }
    rows = scratch->codes.data();
  }
  kernels::pack_panel({.format = view.format,
                       .rows = rows,
                       .row_bytes = row_bytes,
                       .outputs = outputs,
                       .k = view.k,
                       .flip_sign = false,
                       .out = panel_data(item, panel)});
}

/// Rows of a run as floats. A whole trunk of bf16 comes this way, so that one is read in a loop of
/// its own.
Status read_values(const checkpoint::Checkpoint& checkpoint, const PackItem& item, const Run& run,
                   PackScratch* scratch) {
  const Linear& linear = item.linear;
  const int64_t count = run.rows * linear.in;
  scratch->values.resize(static_cast<size_t>(count));
  if (linear.coding != WeightCoding::kPlain || linear.codes->dtype != DType::kBf16) {
    return checkpoint.dequantise_rows(linear, run.source_row, run.source_row + run.rows,
                                      scratch->values.data());
  }
  scratch->codes.resize(static_cast<size_t>(count * 2));
  TRINE_RETURN_IF_ERROR(checkpoint.read(*linear.codes, run.source_row * linear.in * 2,
                                        scratch->codes.data(), count * 2));
  const uint8_t* halves = scratch->codes.data();
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, halves + i * 2, sizeof half);
    scratch->values[static_cast<size_t>(i)] = bf16_to_float(half);
  }
  return {};
}

Status pack_rows_by_value(const checkpoint::Checkpoint& checkpoint, const PackItem& item,
                          const Run& run, PackScratch* scratch) {
  TRINE_RETURN_IF_ERROR(read_values(checkpoint, item, run, scratch));
  for (int64_t i = 0; i < run.panels; ++i) {
    const int64_t first = i * kPanelOutputs;
    pack_values(item, run.panel + i, scratch->values.data() + first * item.linear.in,
                std::min(kPanelOutputs, run.rows - first), scratch);
  }
  return {};
}

/// The outputs of a panel are columns of the source: the part's rows are read once per run.
Status pack_transposed(const checkpoint::Checkpoint& checkpoint, const PackItem& item,
                       const Run& run, PackScratch* scratch) {
  const int64_t inputs = item.slices.rows;
  const int64_t columns = item.linear.in;
  const int64_t row = run.part * item.slices.stride + item.slices.begin;
  scratch->values.resize(static_cast<size_t>(inputs * columns));
  TRINE_RETURN_IF_ERROR(
      checkpoint.dequantise_rows(item.linear, row, row + inputs, scratch->values.data()));
  const int64_t first_output = (run.panel % item.target->panels_per_part()) * kPanelOutputs;
  for (int64_t i = 0; i < run.panels; ++i) {
    const int64_t first = first_output + i * kPanelOutputs;
    const int64_t outputs = std::min(kPanelOutputs, item.target->part_rows - first);
    scratch->block_scales.resize(static_cast<size_t>(outputs * inputs));
    float* out = scratch->block_scales.data();
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t k = 0; k < inputs; ++k)
        out[o * inputs + k] = scratch->values[static_cast<size_t>(k * columns + first + o)];
    }
    pack_values(item, run.panel + i, out, outputs, scratch);
  }
  return {};
}

}  // namespace

int64_t PackedLinear::panels_per_part() const { return kernels::panel_count(part_rows); }

Matrix PackedLinear::part(int64_t index) const {
  Matrix slice = panel_range(view, index * panels_per_part(), (index + 1) * panels_per_part());
  slice.n = part_rows;
  return slice;
}

int64_t PackedLinear::code_bytes() const {
  return empty() ? 0 : panels() * kernels::panel_bytes(view.format, view.k_padded);
}

int64_t PackedLinear::scale_bytes() const {
  if (empty() || view.scale_kind == ScaleKind::kNone) return 0;
  return panels() * group_count(view) * kPanelOutputs * scale_element_bytes(view.scale_kind);
}

int64_t PackedLinear::offset_bytes() const {
  return view.int8_inputs && view.format == WeightFormat::kInt8 ? scale_bytes() : 0;
}

Matrix panel_range(const Matrix& view, int64_t begin, int64_t end) {
  Matrix range = view;
  range.n = std::min(view.n - begin * kPanelOutputs, (end - begin) * kPanelOutputs);
  if (view.data != nullptr)
    range.data = view.data + begin * kernels::panel_bytes(view.format, view.k_padded);
  if (view.scales != nullptr) {
    range.scales = static_cast<const uint8_t*>(view.scales) +
                   begin * group_count(view) * kPanelOutputs * scale_element_bytes(view.scale_kind);
  }
  if (view.offsets != nullptr) range.offsets += begin * group_count(view) * kPanelOutputs;
  return range;
}

bool format_allows_bf16(WeightFormat format) {
  return format != WeightFormat::kF32 && format != WeightFormat::kF16;
}

int64_t panel_range_bytes(const Matrix& view, int64_t begin, int64_t end) {
  const PackedLinear range{.view = panel_range(view, begin, end),
                           .part_rows = (end - begin) * kPanelOutputs};
  return range.bytes();
}

namespace {

/// Plain floats are rounded to int8 at load, MXFP4 is multiplied as int8, and other codings keep
/// their kernels: rounding them twice would gain little.
void plan_int8(PackItem* item) {
  Matrix& view = item->target->view;
  const bool mxfp4 = view.format == WeightFormat::kE2m1 && view.scale_kind == ScaleKind::kE8m0 &&
                     view.group == kernels::kFp4Group;
  const WeightFormat stored = view.format;
  const bool wide =
      stored == WeightFormat::kF32 || stored == WeightFormat::kF16 || stored == WeightFormat::kBf16;
  const bool plain = item->linear.coding == WeightCoding::kPlain && wide && !item->transposed;
  view.int8_inputs = mxfp4 || plain;
  if (!plain) return;
  item->by_value = true;
  view.format = WeightFormat::kInt8;
  view.scale_kind = ScaleKind::kF32;
  view.group = item->int8_group;
}

void plan_coding(PackItem* item) {
  const Linear& linear = item->linear;
  PackedView& view = item->target->view;
  const std::optional<WeightFormat> format = format_of(linear);
  const bool one_scale = linear.group_in >= linear.in || linear.coding == WeightCoding::kPlain;
  const bool group_fits = one_scale || linear.group_in == 16 || linear.group_in % 32 == 0;
  item->by_value = item->transposed || !format || !group_fits || linear.zero_point != nullptr ||
                   linear.g_idx != nullptr;
  if (item->by_value) {
    view.format =
        item->transposed && exact_in_bf16(linear) ? WeightFormat::kBf16 : WeightFormat::kF32;
    return;
  }
  view.format = *format;
  view.scale_kind = scale_kind_of(linear.coding);
  if (!one_scale) view.group = linear.group_in;
}

}  // namespace

void plan_packing(PackItem* item) {
  const Linear& linear = item->linear;
  PackedLinear& target = *item->target;
  PackedView& view = target.view;
  target.parts = item->slices.parts;
  target.part_rows = item->transposed ? linear.in : item->slices.rows;
  view.k = item->transposed ? item->slices.rows : linear.in;
  view.k_padded = kernels::pad_k(view.k);
  view.n = target.parts == 1 ? target.part_rows : target.panels() * kPanelOutputs;
  view.group = view.k_padded;
  view.scale_kind = ScaleKind::kNone;

  plan_coding(item);
  if (item->int8_group > 0) plan_int8(item);
}

Status pack_panels(const checkpoint::Checkpoint& checkpoint, const PackItem& item, int64_t begin,
                   int64_t end, PackScratch* scratch) {
  if (begin >= end) return {};
  if (item.transposed) {
    return for_each_run(item, begin, end, end - begin, [&](const Run& run) {
      return pack_transposed(checkpoint, item, run, scratch);
    });
  }
  const int64_t row_bytes =
      item.by_value ? item.linear.in * 4 : item.linear.codes->bytes / item.linear.out;
  const int64_t panels_max =
      std::max<int64_t>(1, kReadBytes / std::max<int64_t>(1, row_bytes * kPanelOutputs));
  return for_each_run(item, begin, end, panels_max, [&](const Run& run) -> Status {
    if (item.by_value) return pack_rows_by_value(checkpoint, item, run, scratch);
    TRINE_RETURN_IF_ERROR(pack_codes(checkpoint, item, run, scratch));
    if (item.target->view.scale_kind == ScaleKind::kNone) return {};
    return pack_scales(checkpoint, item, run, scratch);
  });
}

}  // namespace trine::model
