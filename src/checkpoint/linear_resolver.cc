// The names, types and shapes of the tensors decide; the config is asked where they leave a choice.
#include "checkpoint/linear_resolver.h"

#include <algorithm>

#include "checkpoint/expected.h"
#include "checkpoint/quant_rules.h"

namespace trine::checkpoint {
namespace {

constexpr int64_t kMxGroup = 32;
constexpr int64_t kNvGroup = 16;
constexpr int64_t kBlock = 128;
constexpr int64_t kWordBits = 32;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool is_byte_exponent(DType dtype) { return dtype == DType::kU8 || dtype == DType::kF8E8M0; }

/// Scales of integer and fp8 codings.
bool is_scale_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16;
}

std::string tensor_text(const TensorInfo& tensor) {
  return std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape);
}

}  // namespace

bool is_plain_float(DType dtype) {
  return is_scale_float(dtype) || dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}

std::vector<const TensorInfo*> LinearParts::all() const {
  std::vector<const TensorInfo*> list;
  for (const TensorInfo* t :
       {weight, packed, scale, scale_inv, global_scale, shape, zero_point, g_idx})
    if (t != nullptr) list.push_back(t);
  return list;
}

LinearParts find_linear_parts(const TensorTable& table, const std::string& module) {
  LinearParts parts;
  std::string name = module + ".weight";
  const size_t base = name.size();
  const auto find = [&](const char* suffix) {
    name.resize(base);
    return table.find(name += suffix);
  };
  parts.weight = find("");
  parts.packed = find("_packed");
  parts.scale = find("_scale");
  if (parts.weight != nullptr && parts.scale == nullptr && is_scale_float(parts.weight->dtype))
    return parts;  // the common case: nothing else can belong to it
  parts.scale_inv = find("_scale_inv");
  parts.global_scale = find("_global_scale");
  parts.shape = find("_shape");
  parts.zero_point = find("_zero_point");
  parts.g_idx = find("_g_idx");
  return parts;
}

/// One resolution: collects the findings of one module.
class LinearResolver::Attempt {
 public:
  Attempt(const LinearResolver& resolver, const std::string& module, const LinearParts& parts,
          Size size, Linear* linear, Findings* findings)
      : r_(resolver), module_(module), p_(parts), size_(size), l_(*linear), findings_(findings) {}

  bool run() {
    l_ = Linear();
    l_.name = module_;
    l_.out = size_.out;
    l_.in = size_.in;
    if (p_.weight != nullptr && p_.packed != nullptr)
      return fail("duplicate-weight", *p_.packed, "weight and weight_packed of one module",
                  "one of them");
    if (p_.scale != nullptr && p_.scale_inv != nullptr)
      return fail("duplicate-weight", *p_.scale_inv, "weight_scale and weight_scale_inv",
                  "one of them");
    if (p_.packed != nullptr) return packed();
    if (p_.weight != nullptr) return unpacked();
    return missing(".weight", "weight or weight_packed beside the weight_scale");
  }

 private:
  bool fail(const char* kind, const TensorInfo& tensor, std::string found, std::string expected) {
    add_finding(findings_, {.kind = kind,
                            .file = (*r_.files_)[static_cast<size_t>(tensor.file)],
                            .tensor = tensor.name,
                            .found = std::move(found),
                            .expected = std::move(expected),
                            .action = "take the file from the release again, or convert again"});
    return false;
  }

  bool missing(const char* suffix, std::string expected) {
    const std::vector<const TensorInfo*> there = p_.all();
    add_finding(findings_,
                {.kind = "missing-tensor",
                 .file = there.empty() ? "" : (*r_.files_)[static_cast<size_t>(there[0]->file)],
                 .tensor = module_ + suffix,
                 .found = "no such tensor",
                 .expected = std::move(expected),
                 .action = "incomplete download or conversion: get the file that holds it"});
    return false;
  }

  bool shape_is(const TensorInfo& tensor, const std::vector<int64_t>& shape) {
    if (tensor.shape == shape) return true;
    return fail("shape", tensor, tensor_text(tensor), "shape " + shape_text(shape));
  }

  bool matrix(const TensorInfo& tensor) {
    if (tensor.shape.size() == 2 && tensor.shape[0] > 0 && tensor.shape[1] > 0) return true;
    return fail("shape", tensor, tensor_text(tensor), "a matrix");
  }

  // The size of the codes is known: agree with what the config implies, or define it.
  bool set_size(const TensorInfo& codes, int64_t out, int64_t in) {
    if ((l_.out != 0 && l_.out != out) || (l_.in != 0 && l_.in != in))
      return fail("shape", codes,
                  tensor_text(codes) + ", that is " + shape_text({out, in}) + " weights",
                  shape_text({l_.out, l_.in}) + " weights");
    l_.out = out;
    l_.in = in;
    l_.codes = &codes;
    return true;
  }

  const QuantScheme* scheme() const { return r_.quant_->resolve(module_, "Linear"); }

  bool packed() {
    const TensorInfo& codes = *p_.packed;
    if (!matrix(codes)) return false;
    if (p_.scale == nullptr) return missing(".weight_scale", "the scales of weight_packed");
    if (codes.dtype == DType::kI32) return packed_int();
    if (codes.dtype != DType::kU8)
      return fail("dtype", codes, tensor_text(codes), "U8 or I32 codes");
    if (codes.shape[1] > INT64_MAX / 2 || !set_size(codes, codes.shape[0], 2 * codes.shape[1]))
      return false;
    l_.scales = p_.scale;
    if (is_byte_exponent(p_.scale->dtype)) {
      l_.coding = WeightCoding::kMxfp4;
      l_.group_in = kMxGroup;
    } else if (p_.scale->dtype == DType::kF8E4M3) {
      l_.coding = WeightCoding::kNvfp4;
      l_.group_in = kNvGroup;
      if (p_.global_scale == nullptr)
        return missing(".weight_global_scale", "the factor that NVFP4 scales are divided by");
      l_.global_scale = p_.global_scale;
      if (p_.global_scale->dtype != DType::kF32 || p_.global_scale->elements() != 1)
        return fail("shape", *p_.global_scale, tensor_text(*p_.global_scale), "one F32 number");
    } else {
      return fail("dtype", *p_.scale, tensor_text(*p_.scale),
                  "U8 (MXFP4) or F8_E4M3 (NVFP4) scales");
    }
    return shape_is(*p_.scale, {l_.out, ceil_div(l_.in, l_.group_in)});
  }

  // The scheme of this module if it speaks of this kind of weights: else the names win.
  const QuantScheme* scheme_like(WeightCoding coding) const {
    const QuantScheme* s = scheme();
    return s != nullptr && s->consistent && format_holds(s->format, coding) ? s : nullptr;
  }

  // How many weights share a scale, in the words of compressed-tensors.
  const char* strategy() const {
    if (l_.group_in < l_.in) return l_.group_out > 1 ? "block" : "group";
    return l_.group_out == 1 ? "channel" : l_.group_out == l_.out ? "tensor" : "block";
  }

  // The files' shapes define the coding; a config that says otherwise is about other weights.
  bool agrees_with(const QuantScheme* s) {
    if (s == nullptr) return true;
    if (!s->symmetric && p_.zero_point == nullptr)
      return missing(".weight_zero_point",
                     "zero points, as config group " + s->group + " is not symmetric");
    const std::string_view found = strategy();
    const bool one_group = s->strategy == "group" && found == "channel" &&
                           (s->group_size == 0 || s->group_size >= l_.in);
    const bool same_for_one = l_.out == 1 && s->strategy == "tensor" && found == "channel";
    const bool one_block = s->strategy == "block" && s->block_out >= l_.out && s->block_in >= l_.in;
    if (s->strategy.empty() || s->strategy == found || one_group || same_for_one || one_block)
      return true;
    return fail("config-contradiction", *l_.scales,
                tensor_text(*l_.scales) + ", a scale per " + std::string(found),
                "strategy " + json::quote(s->strategy) +
                    (s->group_size > 0 ? " and group_size " + std::to_string(s->group_size) : "") +
                    " of config group " + s->group);
  }

  bool packed_int() {
    const TensorInfo& codes = *p_.packed;
    const QuantScheme* s = scheme_like(WeightCoding::kInt4);
    if (l_.in == 0) {
      if (p_.shape == nullptr) return missing(".weight_shape", "the size of weight_packed");
      Size size;
      if (Status status = r_.read_weight_shape(*p_.shape, &size); !status.ok())
        return fail("shape", *p_.shape, status.message(), "two positive numbers: out, in");
      l_.out = size.out;
      l_.in = size.in;
    }
    int64_t bits = 0;
    for (const int64_t b : {4, 8})
      if (codes.shape[1] == ceil_div(l_.in, kWordBits / b) &&
          (bits == 0 || (s != nullptr && s->num_bits == b)))
        bits = b;
    if (bits == 0)
      return fail("shape", codes, tensor_text(codes),
                  shape_text({l_.out, ceil_div(l_.in, 8)}) + " words (int4) or " +
                      shape_text({l_.out, ceil_div(l_.in, 4)}) + " words (int8)");
    if (s != nullptr && s->num_bits != 0 && s->num_bits != bits)
      return fail("config-contradiction", codes, std::to_string(bits) + "-bit codes",
                  "num_bits " + std::to_string(s->num_bits) + " of config group " + s->group);
    if (!set_size(codes, codes.shape[0], l_.in)) return false;
    l_.coding = bits == 4 ? WeightCoding::kInt4 : WeightCoding::kInt8Packed;
    if (!integer_scales(s)) return false;
    if (p_.zero_point != nullptr) {
      const int64_t per_word = kWordBits / bits;
      const int64_t groups = l_.group_in == l_.in ? 1 : ceil_div(l_.in, l_.group_in);
      if (p_.zero_point->dtype != DType::kI32)
        return fail("dtype", *p_.zero_point, tensor_text(*p_.zero_point), "I32 words");
      if (!shape_is(*p_.zero_point, {ceil_div(l_.out, per_word), groups})) return false;
    }
    return set_g_idx() && agrees_with(s);
  }

  bool set_g_idx() {
    l_.zero_point = p_.zero_point;
    if (p_.g_idx == nullptr) return true;
    if (p_.g_idx->dtype != DType::kI32)
      return fail("dtype", *p_.g_idx, tensor_text(*p_.g_idx), "I32 group numbers");
    l_.g_idx = p_.g_idx;
    return shape_is(*p_.g_idx, {l_.in});
  }

  bool one_number(const TensorInfo& t) const { return t.elements() == 1 && t.shape.size() <= 1; }

  // Scales of int4, int8: one per tensor, per output, or per group of inputs.
  bool integer_scales(const QuantScheme* s) {
    const TensorInfo& scale = *p_.scale;
    l_.scales = &scale;
    if (!is_scale_float(scale.dtype))
      return fail("dtype", scale, tensor_text(scale), "F32, F16 or BF16 scales");
    l_.group_in = l_.in;
    if (one_number(scale) && l_.out != 1) {
      l_.group_out = l_.out;
      return true;
    }
    if (scale.shape == std::vector<int64_t>{l_.out}) return true;
    if (scale.shape.size() != 2 || scale.shape[0] != l_.out || scale.shape[1] < 1 ||
        scale.shape[1] > l_.in)
      return fail("shape", scale, tensor_text(scale),
                  "shape [" + std::to_string(l_.out) + ", groups], or one number");
    return group_of(scale, s);
  }

  bool group_of(const TensorInfo& scale, const QuantScheme* s) {
    const int64_t groups = scale.shape[1];
    if (groups == 1) return true;
    const bool given = s != nullptr && s->group_size > 0;
    if (given && ceil_div(l_.in, s->group_size) == groups) {
      l_.group_in = s->group_size;
      return true;
    }
    if (given)
      return fail("config-contradiction", scale,
                  std::to_string(groups) + " groups for " + std::to_string(l_.in) + " inputs",
                  "group_size " + std::to_string(s->group_size) + " of config group " + s->group);
    l_.group_in = l_.in / groups;
    return l_.in % groups == 0 || fail("shape", scale, tensor_text(scale),
                                       "a divisor of the " + std::to_string(l_.in) + " inputs");
  }

  bool unpacked() {
    const TensorInfo& weight = *p_.weight;
    const TensorInfo* scale = p_.scale != nullptr ? p_.scale : p_.scale_inv;
    if (!matrix(weight) || !set_size(weight, weight.shape[0], weight.shape[1])) return false;
    if (weight.dtype == DType::kI8) {
      if (p_.scale == nullptr) return missing(".weight_scale", "the scales of an I8 weight");
      l_.coding = WeightCoding::kInt8;
      const QuantScheme* s = scheme_like(WeightCoding::kInt8);
      if (!integer_scales(s)) return false;
      if (p_.zero_point == nullptr) return set_g_idx() && agrees_with(s);
      if (p_.zero_point->dtype != DType::kI8)
        return fail("dtype", *p_.zero_point, tensor_text(*p_.zero_point), "I8 zero points");
      return shape_is(*p_.zero_point, p_.scale->shape) && set_g_idx() && agrees_with(s);
    }
    if (!is_plain_float(weight.dtype))
      return fail("dtype", weight, tensor_text(weight),
                  "BF16, F16, F32, F8_E4M3, F8_E5M2, or I8 with scales");
    if (scale == nullptr) return plain();
    if (weight.dtype != DType::kF8E4M3)
      return fail("unexpected-scale", *scale,
                  "scales of a weight in " + std::string(dtype_name(weight.dtype)), "no scales");
    l_.scales = scale;
    if (is_byte_exponent(scale->dtype)) {
      l_.coding = WeightCoding::kMxfp8;
      l_.group_in = kMxGroup;
      return shape_is(*scale, {l_.out, ceil_div(l_.in, kMxGroup)});
    }
    l_.coding = WeightCoding::kFp8;
    const QuantScheme* s = scheme_like(WeightCoding::kFp8);
    return fp8_scales(*scale, s) && agrees_with(s);
  }

  // A plain fp8 weight is legal, but where the config says "quantised" it has lost its scales.
  bool plain() {
    const DType dtype = p_.weight->dtype;
    if (dtype == DType::kF8E4M3 && r_.quant_->present()) {
      const QuantScheme* s = scheme();
      if (s != nullptr && s->format != "dense")
        return missing(".weight_scale", "the scales of an F8_E4M3 weight");
    }
    l_.coding = WeightCoding::kPlain;
    return true;
  }

  bool fp8_scales(const TensorInfo& scale, const QuantScheme* s) {
    if (!is_scale_float(scale.dtype))
      return fail("dtype", scale, tensor_text(scale), "F32, F16 or BF16 scales");
    l_.group_in = l_.in;
    if (one_number(scale)) {
      l_.group_out = l_.out;
      return true;
    }
    if (scale.shape == std::vector<int64_t>{l_.out} ||
        scale.shape == std::vector<int64_t>{l_.out, 1})
      return true;
    const bool given = s != nullptr && s->block_out > 0;
    const int64_t block_out = given ? s->block_out : kBlock;
    const int64_t block_in = given ? s->block_in : kBlock;
    if (scale.shape ==
        std::vector<int64_t>{ceil_div(l_.out, block_out), ceil_div(l_.in, block_in)}) {
      l_.group_out = block_out;
      l_.group_in = block_in;
      return true;
    }
    if (scale.shape.size() == 2 && scale.shape[0] == l_.out && scale.shape[1] > 1 &&
        scale.shape[1] <= l_.in)
      return group_of(scale, s);
    return fail("shape", scale, tensor_text(scale),
                "one number, [" + std::to_string(l_.out) + ", 1], or blocks of " +
                    std::to_string(block_out) + "x" + std::to_string(block_in));
  }

  const LinearResolver& r_;
  const std::string& module_;
  const LinearParts& p_;
  Size size_;
  Linear& l_;
  Findings* findings_;
};

bool LinearResolver::resolve(const std::string& module, const LinearParts& parts, Size size,
                             Linear* linear, Findings* findings) const {
  return Attempt(*this, module, parts, size, linear, findings).run();
}

Status LinearResolver::read_weight_shape(const TensorInfo& tensor, Size* size) const {
  const bool wide = tensor.dtype == DType::kI64;
  if ((!wide && tensor.dtype != DType::kI32) || tensor.elements() != 2)
    return {Code::kCorrupt, tensor.name + ": " + tensor_text(tensor)};
  int64_t wide_pair[2] = {0, 0};
  int32_t pair[2] = {0, 0};
  Status status =
      wide ? read_(tensor, wide_pair, sizeof wide_pair) : read_(tensor, pair, sizeof pair);
  if (!status.ok()) return status;
  size->out = wide ? wide_pair[0] : pair[0];
  size->in = wide ? wide_pair[1] : pair[1];
  constexpr int64_t kMost = int64_t{1} << 32;
  if (size->out < 1 || size->in < 1 || size->out > kMost || size->in > kMost)
    return {Code::kCorrupt, "the numbers " + shape_text({size->out, size->in})};
  return {};
}

}  // namespace trine::checkpoint
