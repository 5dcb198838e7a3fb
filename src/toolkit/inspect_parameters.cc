// Sorts the expected parameters into groups and looks up how each is stored.
#include "toolkit/inspect_parameters.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/try.h"
#include "checkpoint/expected.h"
#include "platform/file.h"
#include "toolkit/synth_formats.h"
#include "toolkit/synth_plan.h"

namespace trine {
namespace {

using checkpoint::ExpectedTensor;
using checkpoint::Linear;
using checkpoint::ModelConfig;
using checkpoint::Role;
using checkpoint::TensorInfo;
using checkpoint::WeightCoding;

constexpr int64_t kConfigBytesMax = int64_t{16} << 20;

struct Place {
  const char* part;
  const char* group;
};

Place place_of(const ModelConfig& config, const ExpectedTensor& tensor) {
  const std::string_view name = tensor.name;
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  switch (tensor.role) {
    case Role::kEmbedding: return {"ends", "embedding"};
    case Role::kLmHead: return {"ends", "lm_head"};
    case Role::kVision: return {"vision", "vision tower"};
    case Role::kExpert: return {"ffn", "routed experts"};
    case Role::kRouter:
    case Role::kRouterBias: return {"ffn", "router"};
    case Role::kResProj: return {"residual", "AttnRes"};
    default: break;
  }
  if (has("_res_norm.")) return {"residual", "AttnRes"};
  if (has(".self_attn.")) {
    const size_t at = name.find(".layers.") + 8;
    int64_t layer = 0;
    for (size_t i = at; i < name.size() && name[i] != '.'; ++i)
      layer = layer * 10 + (name[i] - '0');
    return {"attention", config.is_kda[static_cast<size_t>(layer)] ? "KDA" : "MLA"};
  }
  if (has("shared_experts.")) return {"ffn", "shared experts"};
  if (has("routed_expert_")) return {"ffn", "latent projections"};
  if (has(".mlp.")) return {"ffn", "dense MLP"};
  return {"ends", "norms"};
}

int64_t active_parameters(const ModelConfig& config, const ExpectedTensor& tensor) {
  const int64_t elements = tensor.elements();
  switch (tensor.role) {
    case Role::kVision: return 0;
    case Role::kEmbedding: return config.tie_word_embeddings ? elements : config.hidden_size;
    case Role::kExpert: return 0;  // counted for the layer, see add_active_experts
    default: return elements;
  }
}

std::string coding_label(const Linear& linear) {
  switch (linear.coding) {
    case WeightCoding::kPlain: return dtype_name(linear.codes->dtype);
    case WeightCoding::kMxfp4: return "MXFP4";
    case WeightCoding::kNvfp4: return "NVFP4";
    case WeightCoding::kInt4: return "INT4";
    case WeightCoding::kInt8Packed:
    case WeightCoding::kInt8: return "INT8";
    case WeightCoding::kFp8: return "FP8";
    case WeightCoding::kMxfp8: return "MXFP8";
  }
  return "unknown";
}

std::string declared_label(const LinearFormat& format) {
  if (format.format == "bf16") return "BF16";
  if (format.format == "mxfp4-pack-quantized") return "MXFP4";
  if (format.format == "nvfp4-pack-quantized") return "NVFP4";
  if (format.format == "float-quantized") return "FP8";
  if (format.format == "int-quantized") return "INT8";
  if (format.format == "mxfp8-quantized") return "MXFP8";
  return format.num_bits == 8 ? "INT8" : "INT4";
}

struct Stored {
  std::string format;
  int64_t bytes = 0;
};

int64_t bytes_of(const TensorInfo* tensor) { return tensor != nullptr ? tensor->bytes : 0; }

Stored stored(const checkpoint::Checkpoint& checkpoint, const ExpectedTensor& expected) {
  if (const TensorInfo* plain = checkpoint.find(expected.name);
      plain != nullptr && plain->dtype != DType::kI8 && plain->dtype != DType::kF8E4M3)
    return {dtype_name(plain->dtype), plain->bytes};
  const auto linear = checkpoint.linear(expected.name.substr(0, expected.name.rfind('.')));
  if (!linear.ok() || linear->codes == nullptr) return {"absent", 0};
  return {coding_label(*linear), bytes_of(linear->codes) + bytes_of(linear->scales) +
                                     bytes_of(linear->global_scale) + bytes_of(linear->zero_point) +
                                     bytes_of(linear->g_idx)};
}

/// Bytes of a module in a declared format, remembered by shape.
class DeclaredBytes {
 public:
  explicit DeclaredBytes(FormatOf format_of) : format_of_(std::move(format_of)) {}

  Stored operator()(const ExpectedTensor& expected) {
    if (!expected.quantisable())
      return {dtype_name(expected.default_dtype),
              expected.elements() * dtype_bytes(expected.default_dtype)};
    const LinearFormat format = format_of_(expected);
    const std::string label = declared_label(format);
    if (format.format == "bf16") return {label, expected.elements() * 2};
    int64_t& bytes = known_[{label, expected.shape[0], expected.shape[1]}];
    if (bytes == 0) {
      const auto tensors = plan_linear("", expected.shape[0], expected.shape[1], format);
      if (tensors.ok())
        for (const SynthTensor& tensor : *tensors) bytes += tensor.bytes();
    }
    return {label, bytes};
  }

 private:
  FormatOf format_of_;
  std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> known_;
};

Result<FormatOf> read_declared(const checkpoint::Checkpoint& checkpoint) {
  const std::string path = checkpoint.folder() + "/config.json";
  TRINE_ASSIGN_OR_RETURN(const auto text, read_file(path, kConfigBytesMax));
  TRINE_ASSIGN_OR_RETURN(const auto root, json::parse(text, path));
  return declared_formats(checkpoint.folder(), root);
}

void add(const Place& place, const Stored& stored, int64_t parameters, int64_t active,
         ParameterCount* count) {
  count->parameters += parameters;
  count->active += active;
  count->bytes += stored.bytes;
  for (ParameterGroup& known : count->groups) {
    if (known.group != place.group || known.format != stored.format) continue;
    known.parameters += parameters;
    known.active += active;
    known.bytes += stored.bytes;
    return;
  }
  count->groups.push_back(
      {place.part, place.group, stored.format, parameters, active, stored.bytes});
}

// k of E experts work on a token: the share of all of them, whatever their format.
void add_active_experts(const ModelConfig& config, ParameterCount* count) {
  if (config.num_experts == 0) return;
  for (ParameterGroup& group : count->groups) {
    if (group.group != "routed experts") continue;
    group.active = group.parameters / config.num_experts * config.num_experts_per_token;
    count->active += group.active;
  }
}

int order_of(const std::string& group) {
  constexpr const char* kOrder[] = {"KDA",
                                    "MLA",
                                    "AttnRes",
                                    "dense MLP",
                                    "router",
                                    "latent projections",
                                    "routed experts",
                                    "shared experts",
                                    "norms",
                                    "embedding",
                                    "lm_head",
                                    "vision tower"};
  int i = 0;
  for (const char* name : kOrder) {
    if (group == name) return i;
    ++i;
  }
  return i;
}

}  // namespace

json::Value ParameterCount::to_json() const {
  json::Value list = json::Value::array();
  for (const ParameterGroup& group : groups) {
    json::Value entry = json::Value::object();
    entry.set("part", group.part);
    entry.set("group", group.group);
    entry.set("format", group.format);
    entry.set("parameters", group.parameters);
    entry.set("active", group.active);
    entry.set("bytes", group.bytes);
    list.push(std::move(entry));
  }
  json::Value value = json::Value::object();
  value.set("total", parameters);
  value.set("active_per_token", active);
  value.set("bytes", bytes);
  value.set("groups", std::move(list));
  return value;
}

Result<ParameterCount> count_parameters(const checkpoint::Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  FormatOf format_of;
  if (!checkpoint.has_weights()) {
    TRINE_ASSIGN_OR_RETURN(format_of, read_declared(checkpoint));
  }
  DeclaredBytes declared(format_of);
  ParameterCount count;
  checkpoint::for_each_expected(config, [&](const ExpectedTensor& expected) {
    const Stored found =
        checkpoint.has_weights() ? stored(checkpoint, expected) : declared(expected);
    add(place_of(config, expected), found, expected.elements(), active_parameters(config, expected),
        &count);
  });
  add_active_experts(config, &count);
  std::stable_sort(count.groups.begin(), count.groups.end(),
                   [](const ParameterGroup& a, const ParameterGroup& b) {
                     return order_of(a.group) < order_of(b.group);
                   });
  return count;
}

}  // namespace trine
