// Before the weights are downloaded: the names of the index against the names that the config
// implies.
#include <array>

#include "checkpoint/audit.h"
#include "checkpoint/expected.h"
#include "checkpoint/quant_audit.h"
#include "checkpoint/tensor_names.h"

namespace trine::checkpoint {
namespace {

constexpr std::array<const char*, 8> kParts{"",       "_packed",     "_scale", "_scale_inv",
                                            "_shape", "_zero_point", "_g_idx", "_global_scale"};

class IndexAudit {
 public:
  IndexAudit(const ModelConfig& config, const ShardIndex& index, const std::string& name,
             Findings* findings)
      : config_(config),
        index_(index),
        name_(name),
        findings_(findings),
        used_(index.entries.size()) {}

  void run() {
    FeatureNames names;
    for (const ShardIndex::Entry& entry : index_.entries) names.see(entry.tensor);
    for_each_expected(config_, [&](const ExpectedTensor& expected) {
      if (expected.role == Role::kVision && !names.vision) return;
      if (is_residual_name(expected.name) && names.residual_count == 0) return;
      check(expected);
    });
    check_features(config_, names, findings_);
    for (size_t i = 0; i < used_.size(); ++i) {
      const std::string& tensor = index_.entries[i].tensor;
      const bool known = used_[i] || is_ignorable_name(tensor) || is_mtp_name(config_, tensor) ||
                         is_residual_name(tensor) || is_vision_name(tensor);
      if (!known)
        add("extra-tensor", tensor, "a tensor of the index", "no such tensor, by config.json");
    }
  }

 private:
  void check(const ExpectedTensor& expected) {
    bool filled = use(expected.name);
    if (expected.quantisable())
      for (size_t part = 1; part < kParts.size(); ++part) {
        const bool found = use(expected.name + kParts[part]);
        filled = filled || (found && part == 1);
      }
    if (!filled) add("missing-tensor", expected.name, "no such tensor", "a tensor of the index");
  }

  bool use(const std::string& tensor) {
    const ShardIndex::Entry* entry = index_.find(tensor);
    if (entry == nullptr) return false;
    used_[static_cast<size_t>(entry - index_.entries.data())] = true;
    return true;
  }

  void add(const char* kind, const std::string& tensor, std::string found, std::string expected) {
    add_finding(findings_, {.kind = kind,
                            .file = name_,
                            .tensor = tensor,
                            .found = std::move(found),
                            .expected = std::move(expected),
                            .action = "take config.json and index from the same release"});
  }

  const ModelConfig& config_;
  const ShardIndex& index_;
  const std::string& name_;
  Findings* findings_;
  std::vector<bool> used_;
};

}  // namespace

void audit_index_names(const ModelConfig& config, const QuantConfig& quant, const ShardIndex& index,
                       const std::string& index_name, Findings* findings) {
  IndexAudit(config, index, index_name, findings).run();
  QuantAudit quantisation(quant);
  for (const ShardIndex::Entry& entry : index.entries) quantisation.see_name(entry.tensor);
  quantisation.report(findings);
}

}  // namespace trine::checkpoint
