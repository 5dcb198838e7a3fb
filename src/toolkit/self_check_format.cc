// Each packed weight format through the matmul of the level in use.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "base/try.h"
#include "kernels/pack.h"
#include "model/int8_plan.h"
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
constexpr int64_t kInt8Inputs = 3 * model::kInt8Group + 32;  // the last group of a row is short
constexpr int kInt8Most = 127;

/// Multiples of 1/64 that int8 holds: each group has the largest one, so that rounding to int8 with
/// a scale per group changes nothing.
float exact_in_int8(uint64_t word, int64_t k) {
  const int code =
      k % model::kInt8Group == 0 ? kInt8Most : static_cast<int>(word % 255) - kInt8Most;
  return static_cast<float>(code) / 64;
}

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
  std::vector<int32_t> offsets;  ///< of weights rounded to int8
  PackedView view{};
};

/// Which matmul a matrix takes.
enum class Path { kF32, kBf16, kInt8 };

/// Weights as the int8 path packs a trunk.
Status fill_int8(Matrix* matrix) {
  PackedView& view = matrix->view;
  const int64_t count = kernels::scale_count(kOutputs, view.k_padded, view.group);
  TRINE_ASSIGN_OR_RETURN(matrix->scales, Buffer::allocate(count * 4));
  matrix->offsets.assign(static_cast<size_t>(count), 0);
  const CounterStream stream(1, "int8 weights");
  std::vector<float> values(static_cast<size_t>(kOutputs * view.k));
  for (int64_t i = 0; i < kOutputs * view.k; ++i)
    values[static_cast<size_t>(i)] = exact_in_int8(stream.word(i), i % view.k);
  const int64_t panels = kernels::panel_count(kOutputs);
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t first = p * kernels::kPanelOutputs;
    kernels::quantise_panel_int8(
        {values.data() + first * view.k, view.k, std::min(kernels::kPanelOutputs, kOutputs - first),
         view.k, view.group,
         matrix->data.as<uint8_t>() + p * kernels::panel_bytes(view.format, view.k_padded),
         matrix->scales.as<float>() + p * (count / panels),
         matrix->offsets.data() + p * (count / panels)});
  }
  view.scales = matrix->scales.data();
  return {};
}

Result<Matrix> make_matrix(const PackedFormat& format) {
  Matrix matrix;
  const int64_t group = format.group > 0 ? format.group : 96;
  const int64_t k = format.int8_inputs ? kInt8Inputs : std::max<int64_t>(group, 32) * 3;
  PackedView& view = matrix.view;
  view.format = format.format;
  view.scale_kind = format.scale;
  view.n = kOutputs;
  view.k = k;
  view.k_padded = kernels::pad_k(k);
  view.group = format.group > 0 ? group : view.k_padded;
  TRINE_ASSIGN_OR_RETURN(matrix.data,
                         Buffer::allocate(kernels::packed_bytes(format.format, kOutputs, k)));
  view.data = matrix.data.as<uint8_t>();
  if (format.int8_inputs && format.format == WeightFormat::kInt8) {
    TRINE_RETURN_IF_ERROR(fill_int8(&matrix));
    return matrix;
  }
  int64_t row_bytes = 0;
  const auto codes = random_codes(format.format, k, &row_bytes);
  const int64_t panel = kernels::panel_bytes(format.format, view.k_padded);
  for (int64_t p = 0; p < kernels::panel_count(kOutputs); ++p) {
    const int64_t first = p * kernels::kPanelOutputs;
    kernels::pack_panel({format.format, codes.data() + first * row_bytes, row_bytes,
                         std::min(kernels::kPanelOutputs, kOutputs - first), k, false,
                         matrix.data.as<uint8_t>() + p * panel});
  }
  if (format.scale == ScaleKind::kNone) return matrix;
  const int64_t count = kernels::scale_count(kOutputs, view.k_padded, view.group);
  TRINE_ASSIGN_OR_RETURN(matrix.scales, Buffer::allocate(count * 4));
  const CounterStream stream(1, "scales");
  for (int64_t i = 0; i < count; ++i) {
    // MXFP4 becomes int8 without rounding where the scales of a group are within 2^3.
    const auto bits = static_cast<int>(stream.word(i) & (format.int8_inputs ? 3 : 7));
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
  std::vector<float> values;   ///< [kRows][k], exact in bf16 and, for the int8 path, in int8
  std::vector<uint16_t> bf16;  ///< [kRows][k_padded]
};

Inputs make_inputs(const PackedView& view, Path path) {
  Inputs inputs;
  inputs.values = random_floats("rows", kRows * view.k, 1);
  inputs.bf16.assign(static_cast<size_t>(kRows * view.k_padded), 0);
  const CounterStream stream(1, "int8 rows");
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t i = 0; i < view.k; ++i) {
      float& value = inputs.values[static_cast<size_t>(r * view.k + i)];
      if (path == Path::kInt8) value = exact_in_int8(stream.word(r * view.k + i), i);
      const uint16_t bits = float_to_bf16(value);
      value = bf16_to_float(bits);
      inputs.bf16[static_cast<size_t>(r * view.k_padded + i)] = bits;
    }
  return inputs;
}

/// The int8 path as the model takes it: rows are rounded, MXFP4 becomes int8 on the way.
void multiply_int8(const kernels::KernelTable& table, const Matrix& matrix, const float* x,
                   int64_t rows, float* y) {
  const PackedView& view = matrix.view;
  const int64_t groups = (view.k_padded + model::kInt8Group - 1) / model::kInt8Group;
  const auto scales =
      static_cast<size_t>(kernels::scale_count(kOutputs, view.k_padded, model::kInt8Group));
  std::vector<uint8_t> bytes(static_cast<size_t>(rows * view.k_padded));
  std::vector<float> x_scales(static_cast<size_t>(rows * groups));
  table.quantise_rows({x, view.k, rows, view.k, model::kInt8Group, bytes.data(), view.k_padded,
                       x_scales.data(), groups});
  kernels::MatmulI8Args args{};
  args.x = bytes.data();
  args.x_stride = view.k_padded;
  args.x_scales = x_scales.data();
  args.x_scale_stride = groups;
  args.m = rows;
  args.w = view;
  args.offsets = matrix.offsets.data();
  args.panel_end = kernels::panel_count(kOutputs);
  args.y = y;
  args.y_stride = kOutputs;
  if (view.format == WeightFormat::kInt8) return table.matmul_i8(args);
  auto codes = Buffer::allocate(kernels::packed_bytes(WeightFormat::kInt8, kOutputs, view.k));
  if (!codes.ok()) return;  // y stays 0 and fails
  std::vector<float> w_scales(scales);
  std::vector<int32_t> offsets(scales);
  table.int8_from_fp4({view, 0, args.panel_end, model::kInt8Group, codes->as<uint8_t>(),
                       w_scales.data(), offsets.data()});
  args.w.format = WeightFormat::kInt8;
  args.w.scale_kind = ScaleKind::kF32;
  args.w.group = model::kInt8Group;
  args.w.data = codes->as<uint8_t>();
  args.w.scales = w_scales.data();
  args.offsets = offsets.data();
  table.matmul_i8(args);
}

std::vector<float> multiply(const kernels::KernelTable& table, const Matrix& matrix,
                            const Inputs& inputs, Path path, int64_t first_row, int64_t rows) {
  const PackedView& view = matrix.view;
  std::vector<float> y(static_cast<size_t>(rows * kOutputs));
  const float* values = inputs.values.data() + first_row * view.k;
  if (path == Path::kInt8) {
    multiply_int8(table, matrix, values, rows, y.data());
    return y;
  }
  const bool bf16 = path == Path::kBf16;
  kernels::MatmulArgs args{};
  args.x_stride = bf16 ? view.k_padded : view.k;
  if (bf16)
    args.x = inputs.bf16.data() + first_row * args.x_stride;
  else
    args.x = values;
  args.m = rows;
  args.w = view;
  args.panel_end = kernels::panel_count(kOutputs);
  args.y = y.data();
  args.y_stride = kOutputs;
  bf16 ? table.matmul_bf16(args) : table.matmul_f32(args);
  return y;
}

SelfCheck same_bits(const kernels::KernelTable& table, const Matrix& matrix, const Inputs& inputs,
                    Path path) {
  const auto together = multiply(table, matrix, inputs, path, 0, kRows);
  SelfCheck check;
  check.detail = "one row and " + std::to_string(kRows) + " rows, bit for bit";
  check.passed = true;
  for (int64_t r = 0; r < kRows; ++r) {
    const auto alone = multiply(table, matrix, inputs, path, r, 1);
    if (std::memcmp(alone.data(), together.data() + r * kOutputs, alone.size() * 4) != 0)
      check.passed = false;
  }
  return check;
}

std::vector<double> specified(const PackedView& view, const Inputs& inputs) {
  std::vector<double> specification;
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t o = 0; o < kOutputs; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < view.k; ++i)
        sum += static_cast<double>(inputs.values[static_cast<size_t>(r * view.k + i)]) *
               static_cast<double>(kernels::unpack_weight(view, o, i));
      specification.push_back(sum);
    }
  return specification;
}

bool same_kernel(const kernels::KernelTable& a, const kernels::KernelTable& b, Path path) {
  switch (path) {
    case Path::kF32: return a.matmul_f32 == b.matmul_f32;
    case Path::kBf16: return a.matmul_bf16 == b.matmul_bf16;
    case Path::kInt8: return a.matmul_i8 == b.matmul_i8;
  }
  return false;
}

const char* kernel_name(const kernels::KernelTable& table, Path path) {
  switch (path) {
    case Path::kF32: return table.matmul_f32_name;
    case Path::kBf16: return table.matmul_bf16_name;
    case Path::kInt8: return table.matmul_i8_name;
  }
  return "";
}

}  // namespace

bool PackedFormat::operator<(const PackedFormat& other) const {
  return std::tie(format, scale, group, int8_inputs) <
         std::tie(other.format, other.scale, other.group, other.int8_inputs);
}

namespace {

std::string stored_label(const PackedFormat& format) {
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

}  // namespace

std::string format_label(const PackedFormat& format) {
  return stored_label(format) + (format.int8_inputs ? " with int8 inputs" : "");
}

FormatCheck check_format(const PackedFormat& format, Isa isa) {
  FormatCheck result;
  const auto matrix = make_matrix(format);
  if (!matrix.ok()) {
    result.specification.detail = matrix.status().to_string();
    return result;
  }
  const PackedView& view = matrix->view;
  const kernels::KernelTable& table = kernels::kernel_table(isa);
  const kernels::KernelTable& scalar = kernels::kernel_table(Isa::kScalar);
  const bool bf16 = table.bf16_inputs && model::format_allows_bf16(format.format);
  const Path path = format.int8_inputs ? Path::kInt8 : bf16 ? Path::kBf16 : Path::kF32;
  const Inputs inputs = make_inputs(view, path);
  const auto out = multiply(table, *matrix, inputs, path, 0, kRows);
  const auto reference = multiply(scalar, *matrix, inputs, path, 0, kRows);
  const std::string detail = std::to_string(kRows) + " rows by [" + std::to_string(kOutputs) +
                             ", " + std::to_string(view.k) + "]";
  result.specification = compare(out, specified(view, inputs), kTolerance, detail);
  result.twin =
      compare(out, std::vector<double>(reference.begin(), reference.end()), kTolerance, detail);
  result.rows = same_bits(table, *matrix, inputs, path);
  result.kernel = kernel_name(table, path);
  for (const Isa lower : supported_isas()) {
    if (!same_kernel(kernels::kernel_table(lower), table, path)) continue;
    result.specification.level = result.twin.level = isa_name(lower);
    break;
  }
  return result;
}

}  // namespace trine
