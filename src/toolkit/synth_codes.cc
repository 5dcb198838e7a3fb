// Distributions and code tables of synthetic weights.
#include "toolkit/synth_codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/try.h"
#include "tensor/float_formats.h"
#include "toolkit/synth_random.h"

namespace trine {
namespace {

struct Gain {
  std::string_view suffix;
  double gain;  ///< spread = gain / sqrt(in)
};
// Longest match first where suffixes overlap. Gates and ups grow what the activation shrinks, downs
// take it back; queries are sharpened so that attention is not uniform.
constexpr std::array<Gain, 21> kGains{{
    {"shared_experts.gate_proj", 1.5},
    {"shared_experts.up_proj", 2.0},
    {"shared_experts.down_proj", 0.4},
    {"mlp.gate_proj", 1.5},
    {"mlp.up_proj", 2.0},
    {"mlp.down_proj", 0.4},
    {".w1", 1.5},
    {".w3", 2.0},
    {"block_sparse_moe.gate", 1.2},
    {"routed_expert_up_proj", 0.6},
    {"q_b_proj", 1.5},
    {"_res_proj", 1.2},
    {"lm_head", 2.0},
    {"wqkv", 1.3},
    {"encoder.wo", 0.7},
    {".wo", 0.7},
    {"mlp.fc0", 1.3},
    {"mlp.fc1", 0.7},
    {"mlp.gate", 1.2},
    {"o_proj", 1.0},
    {"proj", 1.0},
}};

std::string_view module_of(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(0, dot);
}

bool is_mla_query(const checkpoint::ModelConfig& config, std::string_view module) {
  if (!module.ends_with("self_attn.q_proj")) return false;
  const size_t at = module.find("layers.");
  if (at == std::string_view::npos) return false;
  size_t layer = 0;
  for (size_t i = at + 7;
       i < module.size() && module[i] >= '0' && module[i] <= '9' && layer < 1000000; ++i)
    layer = layer * 10 + static_cast<size_t>(module[i] - '0');
  return layer < config.is_kda.size() && !config.is_kda[layer];
}

uint8_t nearest_fp8(float value, float (*decode)(uint8_t)) {
  int best = 0;
  float distance = std::numeric_limits<float>::infinity();
  for (int code = 0; code < 256; ++code) {
    const float d = std::fabs(decode(static_cast<uint8_t>(code)) - value);
    if (d < distance || (d == distance && code % 2 == 0 && best % 2 != 0)) {
      best = code;
      distance = d;
    }
  }
  return static_cast<uint8_t>(best);
}

uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7C00u);
  // Units of the last place: 2^-24 below 2^-14, else 2^(exponent - 10).
  int exponent = -14;
  while (exponent < 15 && magnitude >= std::ldexp(1.0, exponent + 1)) ++exponent;
  const double units = std::ldexp(magnitude, 10 - exponent);
  auto whole = static_cast<uint32_t>(units);
  const double rest = units - static_cast<double>(whole);
  if (rest > 0.5 || (rest == 0.5 && whole % 2 == 1)) ++whole;
  // A carry into the next binade adds up correctly in the encoded form.
  const auto base = static_cast<uint32_t>(exponent + 14) << 10;
  return static_cast<uint16_t>(sign | (base + whole));
}

double quantile(int i) { return normal_quantiles()[static_cast<size_t>(i) * 16 + 8]; }

uint8_t e2m1_code(double value) {
  constexpr double kEdges[7] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0};
  int code = 0;
  for (const double edge : kEdges) code += std::fabs(value) > edge ? 1 : 0;
  return static_cast<uint8_t>(value < 0 ? code | 8 : code);
}

// Rounded to nearest, halves away from zero, without a libm call that might differ.
int whole(double value, int low, int high) {
  const int rounded = static_cast<int>(value < 0 ? value - 0.5 : value + 0.5);
  return std::clamp(rounded, low, high);
}

}  // namespace

SynthDistribution synth_distribution(const checkpoint::ModelConfig& config, std::string_view name,
                                     int64_t in, bool vector) {
  const std::string_view module = module_of(name);
  if (name.ends_with("e_score_correction_bias")) return {0, 0.12};
  if (name.ends_with("dt_bias"))
    return config.gate_lower_bound.has_value() ? SynthDistribution{-1.5, 1.0}
                                               : SynthDistribution{-4.0, 1.2};
  if (module.ends_with("_conv1d")) return {0, 0.6};
  if (module.ends_with("embed_tokens")) return {0, 0.7};
  if (module.ends_with("pos_emb")) return {0, 0.3};
  if (vector) return {1, 0.1};  // norms
  const double root = std::sqrt(static_cast<double>(std::max<int64_t>(in, 1)));
  if (is_mla_query(config, module)) return {0, 1.5 / root};
  if (module.ends_with(".w2")) return {0, (config.latent_moe_use_norm ? 1.0 : 0.4) / root};
  for (const Gain& row : kGains)
    if (module.ends_with(row.suffix)) return {0, row.gain / root};
  return {0, 1.0 / root};
}

MxScale mx_scale(double spread) {
  constexpr double kJitterSpread = 1.2041594578792296;  // sqrt(0.6 + 0.2 / 4 + 0.2 * 4)
  MxScale scale;
  scale.sigma = spread / kJitterSpread;
  if (!(scale.sigma > 0)) return scale;
  for (; scale.sigma < 1.6 && scale.exponent > 1; --scale.exponent) scale.sigma *= 2;
  for (; scale.sigma >= 3.2 && scale.exponent < 253; ++scale.exponent) scale.sigma /= 2;
  return scale;
}

std::vector<uint8_t> synth_code_table(SynthRole role, double spread) {
  std::vector<uint8_t> table(256);
  for (int i = 0; i < 256; ++i) {
    const double value = quantile(i) * spread;
    uint8_t& code = table[static_cast<size_t>(i)];
    switch (role) {
      case SynthRole::kE2m1Codes: code = e2m1_code(value); break;
      case SynthRole::kInt4Codes: code = static_cast<uint8_t>(whole(value, -8, 7) + 8); break;
      case SynthRole::kUint8Codes:
        code = static_cast<uint8_t>(whole(value, -128, 127) + 128);
        break;
      case SynthRole::kInt8Codes: code = static_cast<uint8_t>(whole(value, -128, 127)); break;
      case SynthRole::kE4m3Codes:
        code = nearest_fp8(static_cast<float>(value), e4m3_to_float);
        break;
      case SynthRole::kE4m3Scale:
        code = nearest_fp8(static_cast<float>(spread * (1 + 0.1 * quantile(i))), e4m3_to_float);
        break;
      case SynthRole::kE8m0ForE2m1:
      case SynthRole::kE8m0ForE4m3:  // -1, 0, +1 with probability 0.2, 0.6, 0.2
        code = static_cast<uint8_t>(static_cast<int>(spread) + (i < 51 ? -1 : i < 205 ? 0 : 1));
        break;
      default: TRINE_CHECK(false);  // a role without codes
    }
  }
  return table;
}

void append_float(DType dtype, float value, std::vector<uint8_t>* out) {
  const auto put = [out](const auto& bits) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&bits);
    out->insert(out->end(), bytes, bytes + sizeof(bits));
  };
  switch (dtype) {
    case DType::kF32: return put(value);
    case DType::kF64: return put(static_cast<double>(value));
    case DType::kF16: return put(float_to_f16(value));
    case DType::kBf16: return put(float_to_bf16(value));
    case DType::kF8E4M3: return put(nearest_fp8(value, e4m3_to_float));
    case DType::kF8E5M2: return put(nearest_fp8(value, e5m2_to_float));
    default: out->insert(out->end(), static_cast<size_t>(dtype_bytes(dtype)), 0);  // unused tensors
  }
}

}  // namespace trine
