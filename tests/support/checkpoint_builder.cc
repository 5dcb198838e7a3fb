#include "support/checkpoint_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "tensor/float_formats.h"

namespace trine::testing {

using checkpoint::ExpectedTensor;
using checkpoint::Role;
using checkpoint::WeightCoding;

namespace {

template <typename T>
void append(std::string* out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out->append(bytes, sizeof value);
}

uint16_t float_to_f16(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::abs(value);
  if (magnitude < std::ldexp(1.0f, -14))
    return static_cast<uint16_t>(sign |
                                 static_cast<uint16_t>(std::lrint(std::ldexp(magnitude, 24))));
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);                       // [0.5, 1)
  const auto mantissa = static_cast<int>(std::lrint(std::ldexp(fraction, 11)));  // 1024..2048
  return static_cast<uint16_t>(sign | (((exponent + 13) << 10) + mantissa));
}

/// Nearest code by trying all of them.
uint8_t nearest_f8(float value, float (*decode)(uint8_t)) {
  int best = 0;
  for (int code = 0; code < 256; ++code) {
    const float candidate = decode(static_cast<uint8_t>(code));
    if (!std::isfinite(candidate)) continue;
    if (std::abs(candidate - value) < std::abs(decode(static_cast<uint8_t>(best)) - value))
      best = code;
  }
  return static_cast<uint8_t>(best);
}

void append_element(std::string* out, DType dtype, float value) {
  switch (dtype) {
    case DType::kF32: return append(out, value);
    case DType::kBf16: return append(out, float_to_bf16(value));
    case DType::kF16: return append(out, float_to_f16(value));
    case DType::kF8E4M3: return append(out, nearest_f8(value, e4m3_to_float));
    case DType::kF8E5M2: return append(out, nearest_f8(value, e5m2_to_float));
    default: ADD_FAILURE() << "no float type"; return;
  }
}

float stored(DType dtype, float value) {
  switch (dtype) {
    case DType::kBf16: return bf16_to_float(float_to_bf16(value));
    case DType::kF16: return f16_to_float(float_to_f16(value));
    case DType::kF8E4M3: return e4m3_to_float(nearest_f8(value, e4m3_to_float));
    case DType::kF8E5M2: return e5m2_to_float(nearest_f8(value, e5m2_to_float));
    default: return value;
  }
}

size_t size_of(int64_t n) { return static_cast<size_t>(n); }

json::Value parse_or_fail(const std::string& text) {
  Result<json::Value> value = json::parse(text, "test");
  EXPECT_TRUE(value.ok()) << value.status().to_string();
  return value.ok() ? *value : json::Value();
}

}  // namespace

std::string safetensors_raw(const std::string& header, const std::string& data) {
  std::string file;
  append(&file, static_cast<uint64_t>(header.size()));
  return file + header + data;
}

std::string safetensors_file(const RawTensors& tensors) {
  json::Value header = json::Value::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    json::Value entry = json::Value::object();
    entry.set("dtype", tensor.dtype);
    json::Value shape = json::Value::array();
    for (const int64_t dim : tensor.shape) shape.push(dim);
    entry.set("shape", std::move(shape));
    json::Value offsets = json::Value::array();
    offsets.push(static_cast<int64_t>(data.size()));
    data += tensor.bytes;
    offsets.push(static_cast<int64_t>(data.size()));
    entry.set("data_offsets", std::move(offsets));
    header.as_object().emplace_back(name, std::move(entry));
  }
  std::string text = json::dump(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  return safetensors_raw(text, data);
}

RawTensor float_tensor(DType dtype, std::vector<int64_t> shape, const std::vector<float>& values) {
  RawTensor tensor{dtype_name(dtype), std::move(shape), {}};
  for (const float value : values) append_element(&tensor.bytes, dtype, value);
  return tensor;
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

json::Value small_k3_config() {
  return parse_or_fail(
      R"({"architectures":["KimiK3ForConditionalGeneration"],"model_type":"kimi_k3",
    "bos_token_id":384,"eos_token_id":386,"pad_token_id":639,"tie_word_embeddings":false,"text_config":{
    "model_type":"kimi_linear","hidden_size":96,"num_hidden_layers":4,"vocab_size":640,
    "rms_norm_eps":1e-05,"linear_attn_config":{"full_attn_layers":[3],"kda_layers":[1,2,4],"num_heads":3,
    "head_dim":16,"short_conv_kernel_size":4,"use_full_rank_gate":true,"gate_lower_bound":-5.0},
    "num_attention_heads":2,"num_key_value_heads":2,"q_lora_rank":24,"kv_lora_rank":32,
    "qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"mla_use_nope":true,
    "mla_use_output_gate":true,"first_k_dense_replace":1,"moe_layer_freq":1,"intermediate_size":160,
    "num_experts":6,"num_experts_per_token":2,"num_shared_experts":2,"moe_intermediate_size":96,
    "routed_expert_hidden_size":64,"latent_moe_use_norm":true,"moe_router_activation_func":"sigmoid",
    "moe_renormalize":true,"routed_scaling_factor":1.0,"num_expert_group":1,"topk_group":1,
    "hidden_act":"situ","activation_situ_beta":4.0,"activation_situ_linear_beta":25.0,
    "attn_res_block_size":2,"max_position_embeddings":1048576,"num_nextn_predict_layers":0}})");
}

json::Value small_linear_config() {
  return parse_or_fail(R"({"architectures":["KimiLinearForCausalLM"],"model_type":"kimi_linear",
    "bos_token_id":384,"eos_token_id":386,"pad_token_id":639,"tie_word_embeddings":false,
    "hidden_size":96,"num_hidden_layers":3,"vocab_size":640,"rms_norm_eps":1e-05,
    "linear_attn_config":{"full_attn_layers":[3],"kda_layers":[1,2],"num_heads":2,"head_dim":32,
    "short_conv_kernel_size":4},"num_attention_heads":3,"num_key_value_heads":3,"q_lora_rank":null,
    "kv_lora_rank":32,"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"mla_use_nope":true,
    "first_k_dense_replace":1,"moe_layer_freq":1,"intermediate_size":160,"num_experts":6,
    "num_experts_per_token":2,"num_shared_experts":1,"moe_intermediate_size":64,
    "moe_router_activation_func":"sigmoid","moe_renormalize":true,"routed_scaling_factor":2.446,
    "num_expert_group":1,"topk_group":1,"hidden_act":"silu","model_max_length":1048576})");
}

/// Writes the tensors of one module and works out what they mean. Codes are drawn at random and
/// given their meaning here, by tables and formulas of this file alone.
class ModuleWriter {
 public:
  ModuleWriter(CheckpointBuilder* builder, std::string module, int64_t out, int64_t in,
               const ModuleCoding& c)
      : b_(*builder),
        module_(std::move(module)),
        out_(out),
        in_(in),
        c_(c),
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
    for (float& value : values) value = static_cast<float>(std_) * b_.normal();
    put("", float_tensor(c_.dtype, {out_, in_}, values));
    for (float& value : values) value = stored(c_.dtype, value);
    return values;
  }

 private:
  void put(const std::string& suffix, RawTensor tensor) {
    b_.tensors_[module_ + ".weight" + suffix] = std::move(tensor);
  }
  int below(int n) { return static_cast<int>(b_.random() % static_cast<uint64_t>(n)); }

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
    for (size_t i = group.size(); i > 1; --i) std::swap(group[i - 1], group[b_.random() % i]);
    std::string bytes;
    for (const int32_t g : group) append(&bytes, g);
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
      for (const uint32_t word : words) append(&bytes, word);
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
    for (const uint32_t word : words) append(&bytes, word);
    put("_packed", {"I32", {out_, words_per_row}, bytes});
    std::string shape;
    append(&shape, out_);
    append(&shape, in_);
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

  CheckpointBuilder& b_;
  std::string module_;
  int64_t out_;
  int64_t in_;
  const ModuleCoding& c_;
  double std_;
  int64_t group_ = 0;
  int64_t groups_ = 0;
};

CheckpointBuilder::CheckpointBuilder(json::Value config, uint64_t seed)
    : config_(std::move(config)), state_(seed * 0x9E3779B97F4A7C15u + 1) {}

CheckpointBuilder& CheckpointBuilder::choose(Choice choice) {
  choice_ = std::move(choice);
  return *this;
}

json::Value& CheckpointBuilder::text_config() {
  for (auto& [key, value] : config_.as_object())
    if (key == "text_config") return value;
  return config_;
}

checkpoint::ModelConfig CheckpointBuilder::parsed_config() const {
  checkpoint::Findings findings;
  checkpoint::ModelConfig parsed =
      checkpoint::parse_config(config_, nullptr, "config.json", &findings);
  EXPECT_FALSE(has_errors(findings)) << summarise(findings, checkpoint::Severity::kError, 9);
  return parsed;
}

// splitmix64
uint64_t CheckpointBuilder::random() {
  uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Sum of 12 uniform numbers: near enough to a normal one, and the same on every machine.
float CheckpointBuilder::normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
  return static_cast<float>(sum);
}

namespace {

/// Mean and deviation of tensors that are no linear weights.
std::pair<float, float> distribution(const ExpectedTensor& t) {
  switch (t.role) {
    case Role::kNorm: return {1.0f, 0.1f};
    case Role::kConv: return {0.0f, 0.6f};
    case Role::kALog: return {0.3f, 0.4f};
    case Role::kDtBias: return {-1.5f, 1.0f};
    case Role::kRouterBias: return {0.0f, 0.12f};
    case Role::kResProj: return {0.0f, 1.2f / std::sqrt(static_cast<float>(t.elements()))};
    default: return {0.0f, 0.05f};
  }
}

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

}  // namespace

void CheckpointBuilder::add_module(const std::string& module, int64_t out, int64_t in,
                                   const ModuleCoding& coding) {
  values_[module] = ModuleWriter(this, module, out, in, coding).run();
  if (coding.coding != WeightCoding::kPlain)
    modules_of_format_[json::dump(scheme_of(coding))].push_back(module);
}

CheckpointBuilder& CheckpointBuilder::build() {
  const checkpoint::ModelConfig parsed = parsed_config();
  checkpoint::for_each_expected(parsed, [&](const ExpectedTensor& t) {
    constexpr size_t kWeightLength = 7;
    if (t.quantisable()) {
      const std::string module = t.name.substr(0, t.name.size() - kWeightLength);
      return add_module(module, t.shape[0], t.shape[1], choice_ ? choice_(t) : bf16());
    }
    const auto [mean, deviation] = distribution(t);
    std::vector<float> values(size_of(t.elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      const bool padding = t.role == Role::kALog && static_cast<int64_t>(i) >= parsed.kda_num_heads;
      values[i] = padding ? 0.0f : stored(t.default_dtype, mean + deviation * normal());
    }
    tensors_[t.name] = float_tensor(t.default_dtype, t.shape, values);
    values_[t.name] = std::move(values);
  });
  describe_codings();
  return *this;
}

// One config group per scheme, with the exact names of its modules as targets.
void CheckpointBuilder::describe_codings() {
  if (modules_of_format_.empty()) return;
  json::Value groups = json::Value::object();
  for (const auto& [scheme, modules] : modules_of_format_) {
    json::Value group = parse_or_fail(scheme);
    json::Value targets = json::Value::array();
    for (const std::string& module : modules) targets.push(module);
    group.set("targets", std::move(targets));
    groups.set("group_" + std::to_string(groups.as_object().size()), std::move(group));
  }
  json::Value quantization = json::Value::object();
  quantization.set("quant_method", "compressed-tensors");
  quantization.set("format", modules_of_format_.size() > 1
                                 ? json::Value("mixed-precision")
                                 : *groups.as_object()[0].second.find("format"));
  quantization.set("config_groups", std::move(groups));
  quantization.set("ignore", json::Value::array());
  text_config().set("quantization_config", std::move(quantization));
}

void CheckpointBuilder::write(const std::string& folder, int shards) const {
  std::filesystem::create_directories(folder);
  const auto save = [&folder](const std::string& name, const std::string& content) {
    std::ofstream(folder + "/" + name, std::ios::binary) << content;
  };
  save("config.json", json::dump_pretty(config_));
  save("generation_config.json", R"({"eos_token_id": 386})");
  if (shards == 1) return save("model.safetensors", safetensors_file(tensors_));
  json::Value map = json::Value::object();
  int64_t total = 0;
  const size_t per_shard =
      (tensors_.size() + static_cast<size_t>(shards) - 1) / static_cast<size_t>(shards);
  auto at = tensors_.begin();
  for (int shard = 1; shard <= shards; ++shard) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05d-of-%06d.safetensors", shard, shards);
    RawTensors part;
    for (; at != tensors_.end() && part.size() < per_shard; ++at) {
      part.insert(*at);
      map.as_object().emplace_back(at->first, json::Value(name));
      total += static_cast<int64_t>(at->second.bytes.size());
    }
    save(name, safetensors_file(part));
  }
  json::Value metadata = json::Value::object();
  metadata.set("total_size", total);
  json::Value index = json::Value::object();
  index.set("metadata", std::move(metadata));
  index.set("weight_map", std::move(map));
  save("model.safetensors.index.json", json::dump(index));
}

}  // namespace trine::testing
