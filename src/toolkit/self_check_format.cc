// Each packed weight format through the matmul of the level in use.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "kernels/pack.h"
#include "model/packed_linear.h"
#include "platform/memory.h"
#include "tensor/float_formats.h"
#include "toolkit/self_check.h"
#include "toolkit/self_check_data.h"
#include "toolkit/synth_codes.h"
#include "toolkit/synth_random.h"

namespace trine {
namespace {

using kernels::PackedView;
using kernels::ScaleKind;
using kernels::WeightFormat;

constexpr int64_t kOutputs = 40;  // two panels and a half
constexpr int64_t kRows = 9;
constexpr double kTolerance = 1e-5;

/// Row-major codes of one format, every code finite.
std::vector<uint8_t> random_codes(WeightFormat format, int64_t k, int64_t* row_bytes) {
  const int64_t count = kOutputs * k;
  std::vector<uint8_t> bytes;
  const auto floats = [&](DType dtype) {
    for (const float value : random_floats("weights", count, 1)) append_float(dtype, value, &bytes);
  };
  switch (format) {
    case WeightFormat::kF32: floats(DType::kF32); break;
    case WeightFormat::kF16: floats(DType::kF16); break;
    case WeightFormat::kBf16: floats(DType::kBf16); break;
    case WeightFormat::kE4m3: floats(DType::kF8E4M3); break;
    case WeightFormat::kE5m2: floats(DType::kF8E5M2); break;
    case WeightFormat::kInt8:
    case WeightFormat::kInt4:
    case WeightFormat::kE2m1: {
      const CounterStream stream(1, "codes");
      const int64_t size = format == WeightFormat::kInt8 ? count : count / 2;
      for (int64_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(stream.word(i)));
    }
  }
  *row_bytes = static_cast<int64_t>(bytes.size()) / kOutputs;
  return bytes;
}

struct Matrix {
  Buffer data;
  Buffer scales;
  PackedView view{};
};

Result<Matrix> make_matrix(const PackedFormat& format) {
  Matrix matrix;
  const int64_t group = format.group > 0 ? format.group : 96;
  const int64_t k = std::max<int64_t>(group, 32) * 3;
  PackedView& view = matrix.view;
  view.format = format.format;
  view.scale_kind = format.scale;
  view.n = kOutputs;
  view.k = k;
  view.k_padded = kernels::pad_k(k);
  view.group = format.group > 0 ? group : view.k_padded;
  auto data = Buffer::allocate(kernels::packed_bytes(format.format, kOutputs, k));
  if (!data.ok()) return data.status();
  matrix.data = std::move(*data);
  int64_t row_bytes = 0;
  const auto codes = random_codes(format.format, k, &row_bytes);
  const int64_t panel = kernels::panel_bytes(format.format, view.k_padded);
  for (int64_t p = 0; p < kernels::panel_count(kOutputs); ++p) {
    const int64_t first = p * kernels::kPanelOutputs;
    kernels::pack_panel({format.format, codes.data() + first * row_bytes, row_bytes,
                         std::min(kernels::kPanelOutputs, kOutputs - first), k, false,
                         matrix.data.as<uint8_t>() + p * panel});
  }
  view.data = matrix.data.as<uint8_t>();
  if (format.scale == ScaleKind::kNone) return matrix;
  const int64_t count = kernels::scale_count(kOutputs, view.k_padded, view.group);
  auto scales = Buffer::allocate(count * 4);
  if (!scales.ok()) return scales.status();
  matrix.scales = std::move(*scales);
  const CounterStream stream(1, "scales");
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<int>(stream.word(i) & 7);
    if (format.scale == ScaleKind::kE8m0)
      matrix.scales.as<uint8_t>()[i] = static_cast<uint8_t>(121 + bits);
    else
      matrix.scales.as<float>()[i] = 0.05f + 0.01f * static_cast<float>(bits);
  }
  view.scales = matrix.scales.data();
  return matrix;
}

/// Rows of x in the form a kernel takes.
struct Inputs {
  std::vector<float> values;   ///< [kRows][k], exact in bf16
  std::vector<uint16_t> bf16;  ///< [kRows][k_padded]
};

std::vector<float> multiply(const kernels::KernelTable& table, const PackedView& view,
                            const Inputs& inputs, bool bf16, int64_t first_row, int64_t rows) {
  std::vector<float> y(static_cast<size_t>(rows * kOutputs));
  kernels::MatmulArgs args{};
  args.x_stride = bf16 ? view.k_padded : view.k;
  if (bf16)
    args.x = inputs.bf16.data() + first_row * args.x_stride;
  else
    args.x = inputs.values.data() + first_row * args.x_stride;
  args.m = rows;
  args.w = view;
  args.panel_end = kernels::panel_count(kOutputs);
  args.y = y.data();
  args.y_stride = kOutputs;
  bf16 ? table.matmul_bf16(args) : table.matmul_f32(args);
  return y;
}

SelfCheck same_bits(const kernels::KernelTable& table, const PackedView& view, const Inputs& inputs,
                    bool bf16) {
  const auto together = multiply(table, view, inputs, bf16, 0, kRows);
  SelfCheck check;
  check.detail = "one row and " + std::to_string(kRows) + " rows, bit for bit";
  check.passed = true;
  for (int64_t r = 0; r < kRows; ++r) {
    const auto alone = multiply(table, view, inputs, bf16, r, 1);
    if (std::memcmp(alone.data(), together.data() + r * kOutputs, alone.size() * 4) != 0)
      check.passed = false;
  }
  return check;
}

}  // namespace

bool PackedFormat::operator<(const PackedFormat& other) const {
  return std::tie(format, scale, group) < std::tie(other.format, other.scale, other.group);
}

std::string format_label(const PackedFormat& format) {
  const auto per_group = [&](const std::string& name) {
    return format.group > 0 ? name + " per " + std::to_string(format.group) : name;
  };
  const bool mx = format.scale == ScaleKind::kE8m0;
  switch (format.format) {
    case WeightFormat::kF32: return "F32";
    case WeightFormat::kF16: return "F16";
    case WeightFormat::kBf16: return "BF16";
    case WeightFormat::kInt8: return per_group("INT8");
    case WeightFormat::kE4m3: return mx ? "MXFP8" : per_group("F8_E4M3");
    case WeightFormat::kE5m2: return per_group("F8_E5M2");
    case WeightFormat::kInt4: return per_group("INT4");
    case WeightFormat::kE2m1: return mx ? "MXFP4" : format.group == 16 ? "NVFP4" : per_group("FP4");
  }
  return "unknown";
}

FormatCheck check_format(const PackedFormat& format, Isa isa) {
  FormatCheck result;
  const auto matrix = make_matrix(format);
  if (!matrix.ok()) {
    result.specification.detail = matrix.status().to_string();
    return result;
  }
  const PackedView& view = matrix->view;
  Inputs inputs;
  inputs.values = random_floats("rows", kRows * view.k, 1);
  inputs.bf16.assign(static_cast<size_t>(kRows * view.k_padded), 0);
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t i = 0; i < view.k; ++i) {
      float& value = inputs.values[static_cast<size_t>(r * view.k + i)];
      const uint16_t bits = float_to_bf16(value);
      value = bf16_to_float(bits);
      inputs.bf16[static_cast<size_t>(r * view.k_padded + i)] = bits;
    }
  std::vector<double> specification;
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t o = 0; o < kOutputs; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < view.k; ++i)
        sum += static_cast<double>(inputs.values[static_cast<size_t>(r * view.k + i)]) *
               static_cast<double>(kernels::unpack_weight(view, o, i));
      specification.push_back(sum);
    }
  const kernels::KernelTable& table = kernels::kernel_table(isa);
  const kernels::KernelTable& scalar = kernels::kernel_table(Isa::kScalar);
  const bool bf16 = table.bf16_inputs && model::format_allows_bf16(format.format);
  const auto out = multiply(table, view, inputs, bf16, 0, kRows);
  const auto reference = multiply(scalar, view, inputs, bf16, 0, kRows);
  const std::string detail = std::to_string(kRows) + " rows by [" + std::to_string(kOutputs) +
                             ", " + std::to_string(view.k) + "]";
  result.specification = compare(out, specification, kTolerance, detail);
  result.twin =
      compare(out, std::vector<double>(reference.begin(), reference.end()), kTolerance, detail);
  result.rows = same_bits(table, view, inputs, bf16);
  result.kernel = bf16 ? table.matmul_bf16_name : table.matmul_f32_name;
  for (const Isa lower : supported_isas()) {
    const kernels::KernelTable& below = kernels::kernel_table(lower);
    if (bf16 ? below.matmul_bf16 != table.matmul_bf16 : below.matmul_f32 != table.matmul_f32)
      continue;
    result.specification.level = result.twin.level = isa_name(lower);
    break;
  }
  return result;
}

}  // namespace trine
