// Random numbers into the bytes of each kind of tensor. Hot loops are table look-ups: 16 random
// bits pick one of 4096 equally likely values already in the bytes of the type.
#include "toolkit/synth_fill.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/float_formats.h"
#include "toolkit/synth_codes.h"
#include "toolkit/synth_random.h"

namespace trine {
namespace {

using Bytes = std::vector<uint8_t>;

template <typename T>
void fill_table(const CounterStream& stream, const Bytes& table, int64_t begin, int64_t bytes,
                uint8_t* out) {
  constexpr int64_t kSize = static_cast<int64_t>(sizeof(T));
  int64_t word_index = begin / kSize / 4;
  for (int64_t at = 0; at < bytes; ++word_index) {
    uint64_t bits = stream.word(word_index);
    for (int i = 0; i < 4 && at < bytes; ++i, at += kSize, bits >>= 16)
      std::memcpy(out + at, table.data() + static_cast<int64_t>((bits & 0xFFFF) >> 4) * kSize,
                  kSize);
  }
}

uint8_t packed_nibbles(const Bytes& table, uint64_t bits) {
  return static_cast<uint8_t>(table[bits & 255] | (table[(bits >> 8) & 255] << 4));
}

void fill_nibbles(const CounterStream& stream, const Bytes& table, int64_t begin, int64_t bytes,
                  uint8_t* out) {
  int64_t word_index = begin / 4;
  for (int64_t at = 0; at < bytes; ++word_index) {
    uint64_t bits = stream.word(word_index);
    for (int i = 0; i < 4 && at < bytes; ++i, ++at, bits >>= 16)
      out[at] = packed_nibbles(table, bits);
  }
}

void fill_bytes(const CounterStream& stream, const Bytes& table, int64_t begin, int64_t bytes,
                uint8_t* out) {
  int64_t word_index = begin / 8;
  for (int64_t at = 0; at < bytes; ++word_index) {
    uint64_t bits = stream.word(word_index);
    for (int i = 0; i < 8 && at < bytes; ++i, ++at, bits >>= 8) out[at] = table[bits & 255];
  }
}

// bf16 of the MXFP4 codes and scales that the quantised twin of this tensor would hold.
void fill_dequantised(const SynthFiller::Recipe& recipe, int64_t begin, int64_t bytes,
                      uint8_t* out) {
  const CounterStream codes(recipe.seed, recipe.stream);
  const CounterStream scales(recipe.seed, recipe.scale_stream);
  const int64_t first = begin / 2;
  for (int64_t i = 0; i < bytes / 2; ++i) {
    const int64_t element = first + i;
    const int64_t byte = element / 2;
    const uint8_t pair = packed_nibbles(*recipe.table, codes.word(byte / 4) >> (16 * (byte % 4)));
    const auto nibble = static_cast<uint8_t>(element % 2 == 0 ? pair & 15 : pair >> 4);
    const int64_t block = element / 32;
    const uint8_t e = (*recipe.scale_table)[(scales.word(block / 8) >> (8 * (block % 8))) & 255];
    const uint16_t bits = float_to_bf16(e2m1_to_float(nibble) * e8m0_to_float(e));
    std::memcpy(out + 2 * i, &bits, 2);
  }
}

bool is_float(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kF16:
    case DType::kBf16:
    case DType::kF32: return true;
    default: return false;
  }
}

template <typename T>
void append(const T& value, Bytes* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out->insert(out->end(), bytes, bytes + sizeof(T));
}

}  // namespace

int64_t SynthTensor::elements() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

void SynthFiller::fill(const Recipe& recipe, int64_t begin, int64_t bytes, uint8_t* out) {
  const CounterStream stream(recipe.seed, recipe.stream);
  switch (recipe.kind) {
    case Recipe::Kind::kTable1:
      return fill_table<uint8_t>(stream, *recipe.table, begin, bytes, out);
    case Recipe::Kind::kTable2:
      return fill_table<uint16_t>(stream, *recipe.table, begin, bytes, out);
    case Recipe::Kind::kTable4:
      return fill_table<uint32_t>(stream, *recipe.table, begin, bytes, out);
    case Recipe::Kind::kNibbles: return fill_nibbles(stream, *recipe.table, begin, bytes, out);
    case Recipe::Kind::kBytes: return fill_bytes(stream, *recipe.table, begin, bytes, out);
    case Recipe::Kind::kDequantised: return fill_dequantised(recipe, begin, bytes, out);
    case Recipe::Kind::kLiteral:
      for (int64_t i = 0; i < bytes; ++i)
        out[i] = recipe.literal[static_cast<size_t>((begin + i) %
                                                    static_cast<int64_t>(recipe.literal.size()))];
      return;
  }
}

SynthFiller::Table SynthFiller::float_table(DType dtype, double mean, double spread) {
  Table& table = tables_[{static_cast<int>(dtype), mean, spread}];
  if (table != nullptr) return table;
  auto bytes = std::make_shared<Bytes>();
  for (const double q : normal_quantiles())
    append_float(dtype, static_cast<float>(mean + spread * q), bytes.get());
  table = std::move(bytes);
  return table;
}

SynthFiller::Table SynthFiller::byte_table(SynthRole role, double spread) {
  Table& table = tables_[{1000 + static_cast<int>(role), spread, 0}];
  if (table == nullptr) table = std::make_shared<Bytes>(synth_code_table(role, spread));
  return table;
}

double SynthFiller::weight_spread(const SynthTensor& tensor) const {
  return synth_distribution(config_, tensor.name, tensor.in, false).spread;
}

SynthFiller::Recipe SynthFiller::literal_recipe(const SynthTensor& tensor) const {
  Recipe recipe;
  Bytes& bytes = recipe.literal;
  if (tensor.role == SynthRole::kWeightShape) {
    if (tensor.dtype == DType::kI32) {
      append(static_cast<int32_t>(tensor.out), &bytes);
      append(static_cast<int32_t>(tensor.in), &bytes);
    } else {
      append(tensor.out, &bytes);
      append(tensor.in, &bytes);
    }
  } else if (tensor.role == SynthRole::kGroupIndex) {
    for (int64_t i = 0; i < tensor.in; ++i)
      append(static_cast<int32_t>(i / std::max<int64_t>(tensor.group, 1)), &bytes);
  } else if (tensor.role == SynthRole::kGlobalScale) {
    append_float(tensor.dtype,
                 static_cast<float>(kNvfp4ScaleMean * kE2m1Spread / weight_spread(tensor)), &bytes);
  } else if (tensor.dtype == DType::kI32) {  // zero points: packed codes of zero
    bytes.assign(4, tensor.code_spread < kInt8Spread ? 0x88 : 0x80);
  } else {
    bytes.assign(static_cast<size_t>(dtype_bytes(tensor.dtype)), 0);
  }
  return recipe;
}

SynthFiller::Recipe SynthFiller::float_recipe(const SynthTensor& tensor) {
  Recipe recipe;
  if (tensor.name.ends_with(".A_log")) {
    // Log-uniform decay rates of the heads; the padding of the release stays zero.
    const CounterStream stream(seed_, tensor.name);
    const bool bounded = config_.gate_lower_bound.has_value();
    const double low = bounded ? kALogBounded[0] : kALogSoftplus[0];
    const double high = bounded ? kALogBounded[1] : kALogSoftplus[1];
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const double u = static_cast<double>(stream.word(i) >> 40) / 16777216.0;
      const double value = i < config_.kda_num_heads ? low + (high - low) * u : 0.0;
      append_float(tensor.dtype, static_cast<float>(value), &recipe.literal);
    }
    return recipe;
  }
  if (!is_float(tensor.dtype)) return literal_recipe(tensor);  // integers nobody knows: zeros
  int64_t in = 1;
  for (size_t i = 1; i < tensor.shape.size(); ++i) in *= tensor.shape[i];
  const SynthDistribution d = synth_distribution(config_, tensor.name, in, tensor.shape.size() < 2);
  return table_recipe(tensor.dtype, d.mean, d.spread);
}

SynthFiller::Recipe SynthFiller::code_recipe(const SynthTensor& tensor) {
  using Kind = Recipe::Kind;
  const double spread = weight_spread(tensor);
  const bool grouped = tensor.group == 32;  // MXFP4 and MXFP8: power-of-two scales
  const bool e4m3 = tensor.role == SynthRole::kE4m3Codes || tensor.role == SynthRole::kE8m0ForE4m3;
  const MxScale mx = mx_scale(e4m3 ? spread / kE4m3Spread : spread);
  Recipe recipe;
  const auto bytes = [&](Kind kind, double code_spread) {
    recipe.kind = kind;
    recipe.table = byte_table(tensor.role, code_spread);
  };
  switch (tensor.role) {
    case SynthRole::kE2m1Codes: bytes(Kind::kNibbles, grouped ? mx.sigma : kE2m1Spread); break;
    case SynthRole::kInt4Codes: bytes(Kind::kNibbles, kInt4Spread); break;
    case SynthRole::kUint8Codes:
    case SynthRole::kInt8Codes: bytes(Kind::kBytes, kInt8Spread); break;
    case SynthRole::kE4m3Codes: bytes(Kind::kBytes, (grouped ? mx.sigma : 1) * kE4m3Spread); break;
    case SynthRole::kE8m0ForE2m1:
    case SynthRole::kE8m0ForE4m3: bytes(Kind::kBytes, mx.exponent); break;
    case SynthRole::kE4m3Scale: bytes(Kind::kBytes, kNvfp4ScaleMean); break;
    default: break;
  }
  return recipe;
}

SynthFiller::Recipe SynthFiller::dequantised_recipe(const SynthTensor& tensor) {
  const MxScale mx = mx_scale(weight_spread(tensor));
  const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
  Recipe recipe;
  recipe.kind = Recipe::Kind::kDequantised;
  recipe.table = byte_table(SynthRole::kE2m1Codes, mx.sigma);
  recipe.scale_table = byte_table(SynthRole::kE8m0ForE2m1, mx.exponent);
  recipe.stream = module + ".weight_packed";
  recipe.scale_stream = module + ".weight_scale";
  return recipe;
}

SynthFiller::Recipe SynthFiller::table_recipe(DType dtype, double mean, double spread) {
  Recipe recipe;
  recipe.table = float_table(dtype, mean, spread);
  const int64_t size = dtype_bytes(dtype);
  recipe.kind = size == 1   ? Recipe::Kind::kTable1
                : size == 2 ? Recipe::Kind::kTable2
                            : Recipe::Kind::kTable4;
  return recipe;
}

SynthFiller::Recipe SynthFiller::prepare(const SynthTensor& tensor) {
  Recipe recipe;
  switch (tensor.role) {
    case SynthRole::kFloat: recipe = float_recipe(tensor); break;
    case SynthRole::kDequantised: recipe = dequantised_recipe(tensor); break;
    case SynthRole::kFloatScale: {
      const double mean = weight_spread(tensor) / tensor.code_spread;
      recipe = table_recipe(tensor.dtype, mean, mean * 0.1);
      break;
    }
    case SynthRole::kGlobalScale:
    case SynthRole::kWeightShape:
    case SynthRole::kZeroPoint:
    case SynthRole::kGroupIndex: recipe = literal_recipe(tensor); break;
    default: recipe = code_recipe(tensor); break;
  }
  recipe.seed = seed_;
  if (recipe.stream.empty()) recipe.stream = tensor.name;
  return recipe;
}

}  // namespace trine
