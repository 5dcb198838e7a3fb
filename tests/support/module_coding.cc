// Codes are drawn at random and given their meaning here, by tables and formulas of this file
// alone.
#include "support/module_coding.h"

#include <cmath>
#include <utility>

namespace trine::testing {

using checkpoint::WeightCoding;

namespace {

size_t size_of(int64_t n) { return static_cast<size_t>(n); }

/// Writes the tensors of one module and works out what they mean. Codes are drawn at random and
/// given their meaning here, by tables and formulas of this file alone.
class ModuleWriter {
 public:
  ModuleWriter(const std::string& module, int64_t out, int64_t in, const ModuleCoding& c,
               TestRandom* random, RawTensors* tensors)
      : module_(module),
        out_(out),
        in_(in),
        c_(c),
        random_(*random),
        tensors_(*tensors),
        std_(1.0 / std::sqrt(in)) {}

  std::vector<float> run() {
    group_ = c_.group > 0 ? c_.group : in_;
    groups_ = (in_ + group_ - 1) / group_;
    switch (c_.coding) {
      case WeightCoding::kPlain: break;
      case WeightCoding::kMxfp4: return fp4(/*nv=*/false);
      case WeightCoding::kNvfp4: return fp4(/*nv=*/true);
      case WeightCoding::kInt4: return packed_int(4);
      case WeightCoding::kInt8Packed: return packed_int(8);
      case WeightCoding::kInt8: return plain_int8();
      case WeightCoding::kFp8: return fp8_weights();
      case WeightCoding::kMxfp8: return mxfp8_weights();
    }
    std::vector<float> values(size_of(out_ * in_));
    for (float& value : values) value = static_cast<float>(std_) * random_.normal();
    put("", float_tensor(c_.dtype, {out_, in_}, values));
    for (float& value : values) value = stored(c_.dtype, value);
    return values;
  }

 private:
  void put(const std::string& suffix, RawTensor tensor) {
    tensors_[module_ + ".weight" + suffix] = std::move(tensor);
  }
  int below(int n) { return random_.below(n); }

  std::string exponents(int centre, std::vector<float>* scales) {
    std::string bytes;
    for (int64_t i = 0; i < out_ * groups_; ++i) {
      const int e = centre - 1 + below(3);
      bytes.push_back(static_cast<char>(e));
      scales->push_back(std::ldexp(1.0f, e - 127));
    }
    return bytes;
  }
  int exponent_near(double value) const {
    return 127 + static_cast<int>(std::floor(std::log2(value)));
  }

  std::vector<float> fp4(bool nv) {
    constexpr float kValue[16] = {0,     .5f,  1,  1.5f,  2,  3,  4,  6,
                                  -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6};
    std::vector<float> scales;
    if (nv) {
      const auto global = static_cast<float>(128.0 / std_);
      std::string bytes;
      for (int64_t i = 0; i < out_ * groups_; ++i) {
        const int code = 0x60 + below(16);  // 32, 36, ... 60, 64, 72, ... 120
        bytes.push_back(static_cast<char>(code));
        const float scale = static_cast<float>(8 + code % 8) * (code < 0x68 ? 4.0f : 8.0f);
        scales.push_back(scale / global);
      }
      put("_scale", {"F8_E4M3", {out_, groups_}, bytes});
      put("_global_scale", float_tensor(DType::kF32, {1}, {global}));
    } else {
      std::string bytes = exponents(exponent_near(std_ / 2.5), &scales);
      put("_scale", {"U8", {out_, groups_}, bytes});
    }
    std::vector<float> values;
    std::string codes(size_of(out_ * in_ / 2), '\0');
    for (int64_t o = 0; o < out_; ++o)
      for (int64_t i = 0; i < in_; ++i) {
        const int code = below(16);
        char& byte = codes[size_of(o * (in_ / 2) + i / 2)];
        byte = static_cast<char>(byte | (code << (i % 2 == 0 ? 0 : 4)));
        values.push_back(kValue[code] * scales[size_of(o * groups_ + i / group_)]);
      }
    put("_packed", {"U8", {out_, in_ / 2}, codes});
    return values;
  }

  // Scales of integer and fp8 codings; the value that each stored one has.
  std::vector<float> float_scales(int64_t rows, int64_t columns, double size,
                                  const std::string& suffix) {
    std::vector<float> scales(size_of(rows * columns));
    for (float& scale : scales)
      scale = stored(c_.scale_dtype, static_cast<float>(size * (0.75 + 0.05 * below(11))));
    std::vector<int64_t> shape{rows, columns};
    if (c_.per_tensor) shape = {1};
    put(suffix, float_tensor(c_.scale_dtype, shape, scales));
    return scales;
  }

  std::vector<int32_t> groups_of_inputs() {
    std::vector<int32_t> group(size_of(in_));
    for (int64_t i = 0; i < in_; ++i) group[size_of(i)] = static_cast<int32_t>(i / group_);
    if (!c_.g_idx) return group;
    for (size_t i = group.size(); i > 1; --i) std::swap(group[i - 1], group[random_.next() % i]);
    std::string bytes;
    for (const int32_t g : group) append_bytes(&bytes, g);
    put("_g_idx", {"I32", {in_}, bytes});
    return group;
  }

  std::vector<float> packed_int(int bits) {
    const int64_t per_word = 32 / bits;
    const int half = 1 << (bits - 1);
    const std::vector<float> scales = float_scales(
        c_.per_tensor ? 1 : out_, c_.per_tensor ? 1 : groups_, std_ / half * 1.7, "_scale");
    std::vector<int> zeros(size_of(out_ * groups_), half);
    if (c_.zero_point) {
      std::vector<uint32_t> words(size_of((out_ + per_word - 1) / per_word * groups_), 0);
      for (int64_t o = 0; o < out_; ++o)
        for (int64_t g = 0; g < groups_; ++g) {
          const int zero = half - 2 + below(5);
          zeros[size_of(o * groups_ + g)] = zero;
          words[size_of(o / per_word * groups_ + g)] |= static_cast<uint32_t>(zero)
                                                        << (o % per_word * bits);
        }
      std::string bytes;
      for (const uint32_t word : words) append_bytes(&bytes, word);
      put("_zero_point", {"I32", {(out_ + per_word - 1) / per_word, groups_}, bytes});
    }
    const std::vector<int32_t> group = groups_of_inputs();
    const int64_t words_per_row = (in_ + per_word - 1) / per_word;
    std::vector<uint32_t> words(size_of(out_ * words_per_row), 0);
    std::vector<float> values;
    for (int64_t o = 0; o < out_; ++o)
      for (int64_t i = 0; i < in_; ++i) {
        const int code = below(1 << bits);
        words[size_of(o * words_per_row + i / per_word)] |= static_cast<uint32_t>(code)
                                                            << (i % per_word * bits);
        const int64_t at = o * groups_ + group[size_of(i)];
        values.push_back(static_cast<float>(code - zeros[size_of(at)]) *
                         scales[c_.per_tensor ? 0 : size_of(at)]);
      }
    std::string bytes;
    for (const uint32_t word : words) append_bytes(&bytes, word);
    put("_packed", {"I32", {out_, words_per_row}, bytes});
    std::string shape;
    append_bytes(&shape, out_);
    append_bytes(&shape, in_);
    put("_shape", {"I64", {2}, shape});
    return values;
  }

  std::vector<float> plain_int8() {
    const std::vector<float> scales =
        float_scales(c_.per_tensor ? 1 : out_, c_.per_tensor ? 1 : groups_, std_ / 75, "_scale");
    std::string zeros;
    if (c_.zero_point) {
      for (size_t i = 0; i < scales.size(); ++i) zeros.push_back(static_cast<char>(below(21) - 10));
      put("_zero_point",
          {"I8", c_.per_tensor ? std::vector<int64_t>{1} : std::vector<int64_t>{out_, groups_},
           zeros});
    }
    std::string codes;
    std::vector<float> values;
    for (int64_t o = 0; o < out_; ++o)
      for (int64_t i = 0; i < in_; ++i) {
        const int code = below(256) - 128;
        codes.push_back(static_cast<char>(code));
        const size_t at = c_.per_tensor ? 0 : size_of(o * groups_ + i / group_);
        const int zero = zeros.empty() ? 0 : static_cast<signed char>(zeros[at]);
        values.push_back(static_cast<float>(code - zero) * scales[at]);
      }
    put("", {"I8", {out_, in_}, codes});
    return values;
  }

  // Sign, exponent 4..9 of bias 7, mantissa: 0.125 to 7.5.
  float random_e4m3(std::string* codes) {
    const int exponent = 4 + below(6);
    const int mantissa = below(8);
    const bool negative = below(2) == 1;
    codes->push_back(static_cast<char>((negative ? 0x80 : 0) | (exponent << 3) | mantissa));
    return (negative ? -1.0f : 1.0f) *
           std::ldexp(1.0f + static_cast<float>(mantissa) / 8.0f, exponent - 7);
  }

  std::vector<float> fp8_weights() {
    const int64_t block_out = c_.per_tensor ? out_ : c_.blocks ? 128 : 1;
    const int64_t block_in = c_.blocks ? 128 : group_;
    const int64_t columns = (in_ + block_in - 1) / block_in;
    const std::vector<float> scales =
        float_scales((out_ + block_out - 1) / block_out, columns, std_ / 2.3,
                     c_.scale_inv ? "_scale_inv" : "_scale");
    std::string codes;
    std::vector<float> values;
    for (int64_t o = 0; o < out_; ++o)
      for (int64_t i = 0; i < in_; ++i)
        values.push_back(random_e4m3(&codes) *
                         scales[size_of(o / block_out * columns + i / block_in)]);
    put("", {"F8_E4M3", {out_, in_}, codes});
    return values;
  }

  std::vector<float> mxfp8_weights() {
    std::vector<float> scales;
    const std::string bytes = exponents(exponent_near(std_ / 2.3), &scales);
    put("_scale", {"U8", {out_, groups_}, bytes});
    std::string codes;
    std::vector<float> values;
    for (int64_t o = 0; o < out_; ++o)
      for (int64_t i = 0; i < in_; ++i)
        values.push_back(random_e4m3(&codes) * scales[size_of(o * groups_ + i / group_)]);
    put("", {"F8_E4M3", {out_, in_}, codes});
    return values;
  }

  const std::string& module_;
  int64_t out_;
  int64_t in_;
  const ModuleCoding& c_;
  TestRandom& random_;
  RawTensors& tensors_;
  double std_;
  int64_t group_ = 0;
  int64_t groups_ = 0;
};

std::string format_of(const ModuleCoding& c) {
  switch (c.coding) {
    case WeightCoding::kPlain: return "";
    case WeightCoding::kMxfp4: return "mxfp4-pack-quantized";
    case WeightCoding::kNvfp4: return "nvfp4-pack-quantized";
    case WeightCoding::kInt4:
    case WeightCoding::kInt8Packed: return "pack-quantized";
    case WeightCoding::kInt8: return "int-quantized";
    case WeightCoding::kFp8: return "float-quantized";
    case WeightCoding::kMxfp8: return "mxfp8-quantized";
  }
  return "";
}

}  // namespace

uint64_t TestRandom::next() {
  uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

float TestRandom::normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(next() >> 11) * 0x1p-53;
  return static_cast<float>(sum);
}

ModuleCoding plain(DType dtype) { return {.dtype = dtype}; }
ModuleCoding bf16() { return plain(DType::kBf16); }
ModuleCoding mxfp4() { return {.coding = WeightCoding::kMxfp4, .group = 32}; }
ModuleCoding nvfp4() { return {.coding = WeightCoding::kNvfp4, .group = 16}; }
ModuleCoding mxfp8() { return {.coding = WeightCoding::kMxfp8, .group = 32}; }
ModuleCoding int4(int64_t group) { return {.coding = WeightCoding::kInt4, .group = group}; }
ModuleCoding int8_packed(int64_t group) {
  return {.coding = WeightCoding::kInt8Packed, .group = group};
}
ModuleCoding int8() { return {.coding = WeightCoding::kInt8}; }
ModuleCoding fp8() { return {.coding = WeightCoding::kFp8}; }
ModuleCoding fp8_blocks() { return {.coding = WeightCoding::kFp8, .blocks = true}; }

std::vector<float> write_module(const std::string& module, int64_t out, int64_t in,
                                const ModuleCoding& coding, TestRandom* random,
                                RawTensors* tensors) {
  return ModuleWriter(module, out, in, coding, random, tensors).run();
}

json::Value scheme_of(const ModuleCoding& c) {
  const bool four = c.coding == WeightCoding::kMxfp4 || c.coding == WeightCoding::kNvfp4 ||
                    c.coding == WeightCoding::kInt4;
  const bool integer = c.coding == WeightCoding::kInt4 || c.coding == WeightCoding::kInt8Packed ||
                       c.coding == WeightCoding::kInt8;
  json::Value weights = json::Value::object();
  weights.set("num_bits", four ? 4 : 8);
  weights.set("type", integer ? "int" : "float");
  weights.set("strategy", c.per_tensor  ? "tensor"
                          : c.blocks    ? "block"
                          : c.group > 0 ? "group"
                                        : "channel");
  weights.set("group_size", c.group > 0 ? json::Value(c.group) : json::Value());
  weights.set("symmetric", !c.zero_point);
  if (c.blocks) weights.set("block_structure", json::Value(json::Value::Array{128, 128}));
  json::Value scheme = json::Value::object();
  scheme.set("format", format_of(c));
  scheme.set("weights", std::move(weights));
  return scheme;
}

}  // namespace trine::testing
