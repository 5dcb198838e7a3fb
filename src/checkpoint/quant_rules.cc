#include "checkpoint/quant_rules.h"

#include <algorithm>
#include <array>
#include <utility>

namespace trine::checkpoint {
namespace {

struct Rule {
  std::string_view format;
  int64_t num_bits;       ///< 0: 4 or 8
  std::string_view type;  ///< empty: either
  int64_t group_size;     ///< 0: free
  std::string_view strategies;
};

constexpr std::array<Rule, 7> kRules{{
    {"mxfp4-pack-quantized", 4, "float", 32, " group "},
    {"nvfp4-pack-quantized", 4, "float", 16, " tensor_group group "},
    {"mxfp8-quantized", 8, "float", 32, " group "},
    {"pack-quantized", 0, "int", 0, " tensor channel group "},
    {"int-quantized", 8, "int", 0, " tensor channel group "},
    {"float-quantized", 8, "float", 0, " tensor channel group block "},
    {"naive-quantized", 8, "", 0, " tensor channel group block "},
}};

class GroupCheck {
 public:
  GroupCheck(const QuantScheme& scheme, const json::Value& weights, std::string key,
             const std::string& file, Findings* findings)
      : s_(scheme),
        weights_(weights),
        key_(std::move(key)),
        file_(file),
        findings_(findings),
        before_(findings->size()) {}

  bool run() {
    for (const char* key : {"num_bits", "group_size"}) check_number(key);
    const auto* rule = std::find_if(kRules.begin(), kRules.end(),
                                    [this](const Rule& r) { return r.format == s_.format; });
    if (rule != kRules.end()) check_format(*rule);
    check_strategy();
    return findings_->size() == before_;
  }

 private:
  void contradict(const char* key, const std::string& expected) {
    const json::Value* value = weights_.find(key);
    add_finding(findings_, {.kind = "config-contradiction",
                            .file = file_,
                            .tensor = key_ + "." + key,
                            .found = value != nullptr ? json::dump(*value) : "nothing",
                            .expected = expected,
                            .action = "take config.json from the release of these weights"});
  }

  void check_number(const char* key) {
    const json::Value* value = weights_.find(key);
    int64_t number = 0;
    if (value != nullptr && !value->is_null() && !value->to_int64(&number))
      contradict(key, "a whole number");
  }

  void check_format(const Rule& rule) {
    const std::string as = ", as format " + s_.format + " has it";
    if (rule.num_bits == 0 && s_.num_bits != 0 && s_.num_bits != 4 && s_.num_bits != 8)
      contradict("num_bits", "4 or 8" + as);
    if (rule.num_bits != 0 && s_.num_bits != 0 && s_.num_bits != rule.num_bits)
      contradict("num_bits", std::to_string(rule.num_bits) + as);
    if (!rule.type.empty() && !s_.type.empty() && s_.type != rule.type)
      contradict("type", json::quote(rule.type) + as);
    if (rule.group_size != 0 && s_.group_size != 0 && s_.group_size != rule.group_size)
      contradict("group_size", std::to_string(rule.group_size) + as);
    if (!s_.strategy.empty() &&
        rule.strategies.find(" " + s_.strategy + " ") == std::string_view::npos)
      contradict("strategy", "one of" + std::string(rule.strategies) + "for format " + s_.format);
    if (!s_.symmetric && rule.type == "float") contradict("symmetric", "true" + as);
  }

  void check_strategy() {
    if (s_.strategy.empty()) return;
    const std::string with = " with strategy " + json::quote(s_.strategy);
    const bool groups = s_.strategy == "group" || s_.strategy == "tensor_group";
    if (!groups && s_.group_size > 0) contradict("group_size", "none" + with);
    if (s_.strategy != "block" && s_.block_out > 0) contradict("block_structure", "none" + with);
  }

  const QuantScheme& s_;
  const json::Value& weights_;
  std::string key_;
  const std::string& file_;
  Findings* findings_;
  size_t before_;
};

}  // namespace

bool check_group_fields(const QuantScheme& scheme, const json::Value& weights,
                        const std::string& key, const std::string& file, Findings* findings) {
  return GroupCheck(scheme, weights, key, file, findings).run();
}

bool format_holds(std::string_view format, WeightCoding coding) {
  const bool naive = coding == WeightCoding::kInt8 || coding == WeightCoding::kFp8;
  return format == format_of_coding(coding) || (naive && format == "naive-quantized");
}

std::string_view format_of_coding(WeightCoding coding) {
  switch (coding) {
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

}  // namespace trine::checkpoint
