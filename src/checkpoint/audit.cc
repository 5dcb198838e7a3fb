#include "checkpoint/audit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "checkpoint/expected.h"
#include "checkpoint/quant_audit.h"
#include "checkpoint/tensor_names.h"

namespace trine::checkpoint {
namespace {

constexpr const char* kGetAgain = "incomplete download or conversion: get the file that holds it";

class Audit {
 public:
  Audit(const AuditInput& input, std::vector<ShapeClaim>* claims, Findings* findings)
      : in_(input), claims_(claims), findings_(findings), used_(input.table.all().size(), false) {}

  void run() {
    find_duplicates();
    Findings walk;
    Findings* const all = std::exchange(findings_, &walk);
    FeatureNames names;
    for (const TensorInfo& tensor : in_.table.all()) names.see(tensor.name);
    for (const std::string& name : in_.losses.refused) names.see(name);
    if (!in_.losses.unread.empty())
      for (const ShardIndex::Entry& entry : in_.index.entries) names.see(entry.tensor);
    for_each_expected(in_.config, [&](const ExpectedTensor& expected) {
      if (expected.role == Role::kVision && !names.vision) return;
      if (is_residual_name(expected.name) && names.residual_count == 0) return;
      check(expected);
    });
    findings_ = all;
    if (matched_ == 0 && !in_.table.all().empty() && !in_.losses.any())
      return report_other_layout();
    for (Finding& finding : walk) add_finding(findings_, std::move(finding));
    if (in_.index.usable || in_.losses.unread.empty()) check_features(in_.config, names, findings_);
    quantisation_.report(findings_);
    report_extras();
    check_index();
    report_unchecked();
  }

 private:
  const std::string& file_of(const TensorInfo& tensor) const {
    return in_.files[static_cast<size_t>(tensor.file)];
  }
  void add(Severity severity, const char* kind, std::string file, const std::string& tensor,
           std::string found, std::string expected, std::string action) {
    add_finding(findings_, {.severity = severity,
                            .kind = kind,
                            .file = std::move(file),
                            .tensor = tensor,
                            .found = std::move(found),
                            .expected = std::move(expected),
                            .action = std::move(action)});
  }
  void use(const TensorInfo& tensor) {
    used_[static_cast<size_t>(in_.table.index_of(&tensor))] = true;
  }

  void find_duplicates() {
    const auto& all = in_.table.all();
    for (size_t i = 1; i < all.size(); ++i) {
      if (all[i].name != all[i - 1].name) continue;
      used_[i] = true;  // named here, not again as extra
      if (all[i].file == all[i - 1].file)
        add(Severity::kError, "duplicate-key", file_of(all[i]), all[i].name,
            "the tensor twice in one header", "each name once", "download this file again");
      else
        add(Severity::kError, "duplicate-tensor", file_of(all[i]), all[i].name,
            "the same tensor in " + file_of(all[i - 1]), "each tensor in one file",
            "remove the file that does not belong to this checkpoint");
    }
  }

  void check(const ExpectedTensor& expected) {
    if (expected.quantisable()) return check_linear(expected);
    const TensorInfo* tensor = in_.table.find(expected.name);
    if (tensor == nullptr) return missing(expected);
    ++matched_;
    use(*tensor);
    const std::string found =
        std::string(dtype_name(tensor->dtype)) + " " + shape_text(tensor->shape);
    if (!is_plain_float(tensor->dtype))
      add(Severity::kError, "dtype", file_of(*tensor), tensor->name, found,
          "BF16, F16, F32, F8_E4M3 or F8_E5M2", "convert the tensor to BF16 or F32");
    if (!shape_accepted(in_.config, expected, tensor->shape))
      add(Severity::kError, "shape", file_of(*tensor), tensor->name, found,
          "shape " + shape_text(expected.shape), "take config and weights from the same release");
  }

  void check_linear(const ExpectedTensor& expected) {
    constexpr std::string_view kWeight = ".weight";
    const std::string module = expected.name.substr(0, expected.name.size() - kWeight.size());
    const LinearParts parts = find_linear_parts(in_.table, module);
    if (parts.none()) return missing(expected);
    ++matched_;
    for (const TensorInfo* tensor : parts.all()) use(*tensor);
    LinearResolver::Size size{expected.shape[0], expected.shape[1]};
    if (expected.role == Role::kRouter && parts.weight != nullptr &&
        shape_accepted(in_.config, expected, parts.weight->shape))
      size.in = parts.weight->shape[1];
    if (parts.shape != nullptr) claims_->push_back({parts.shape, size});
    Linear linear;
    Findings resolved;
    if (in_.resolver.resolve(module, parts, size, &linear, &resolved)) quantisation_.see(linear);
    for (Finding& finding : resolved)
      if (finding.kind != "missing-tensor" || !is_known_loss(module + ".", finding.tensor))
        add_finding(findings_, std::move(finding));
  }

  // True where an earlier finding, or check_index(), tells why a tensor is not there.
  bool is_known_loss(const std::string& module_prefix, const std::string& tensor) {
    const auto refused = in_.losses.refused.lower_bound(module_prefix);
    if (refused != in_.losses.refused.end() && refused->starts_with(module_prefix)) return true;
    if (in_.index.usable) return in_.index.find(tensor) != nullptr;
    if (in_.losses.unread.empty()) return false;
    ++unchecked_;
    return true;
  }

  // Whatever the index names is reported by check_index() or as a missing file.
  void missing(const ExpectedTensor& expected) {
    const std::string prefix = expected.quantisable()
                                   ? expected.name.substr(0, expected.name.rfind('.') + 1)
                                   : expected.name;
    if (is_known_loss(prefix, expected.name)) return;
    if (in_.index.usable && expected.quantisable() &&
        in_.index.find(expected.name + "_packed") != nullptr)
      return;
    add(Severity::kError, "missing-tensor", in_.index.usable ? in_.index_name : "", expected.name,
        "no such tensor", "shape " + shape_text(expected.shape), kGetAgain);
  }

  void report_other_layout() {
    const ExpectedTensor first = first_expected();
    add(Severity::kError, "layout-mismatch", file_of(in_.table.all()[0]), in_.table.all()[0].name,
        "none of the tensors that config.json implies", "names like " + first.name,
        "take config.json and weights from the same release");
  }

  ExpectedTensor first_expected() const {
    ExpectedTensor first;
    ModelConfig one = in_.config;
    one.num_hidden_layers = 1;
    one.num_experts = std::min<int64_t>(one.num_experts, 1);
    for_each_expected(one, [&first](const ExpectedTensor& t) {
      if (first.name.empty()) first = t;
    });
    return first;
  }

  void report_extras() {
    for (size_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) continue;
      const TensorInfo& tensor = in_.table.all()[i];
      if (!in_.config.attn_res_block_size && is_residual_name(tensor.name)) continue;
      if (!in_.config.vision && is_vision_name(tensor.name))
        continue;  // check_features() named them
      const std::string what =
          std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape);
      if (is_ignorable_name(tensor.name))
        add(Severity::kNote, "ignored-tensor", file_of(tensor), tensor.name, what, "",
            "not needed: activations are not quantised");
      else if (is_mtp_name(in_.config, tensor.name))
        add(Severity::kNote, "mtp-ignored", file_of(tensor), tensor.name, what, "",
            "multi-token prediction is not used");
      else if (!in_.index.usable || !is_stray_file(tensor.file))
        add(Severity::kError, "extra-tensor", file_of(tensor), tensor.name, what,
            "no such tensor, by config.json", "take config.json and weights from the same release");
    }
  }

  void check_index() {
    if (!in_.index.usable) return;
    std::vector<bool> present(in_.index.files.size());
    std::map<std::string, int32_t> shard;
    for (size_t i = 0; i < in_.files.size(); ++i) shard[in_.files[i]] = static_cast<int32_t>(i);
    bool whole = true;
    for (size_t i = 0; i < present.size(); ++i) {
      present[i] = shard.contains(in_.index.files[i]);
      whole = whole && present[i];
    }
    for (const ShardIndex::Entry& entry : in_.index.entries) {
      if (in_.losses.refused.contains(entry.tensor)) continue;
      const std::string& file = in_.index.files[static_cast<size_t>(entry.file)];
      const TensorInfo* tensor = in_.table.find(entry.tensor);
      if (tensor == nullptr && in_.losses.unread.contains(file))
        ++unchecked_in_[file];
      else if (!present[static_cast<size_t>(entry.file)])
        continue;
      else if (tensor == nullptr)
        add(Severity::kError, "index-mismatch", file, entry.tensor, "no such tensor in any file",
            "in this file, by " + in_.index_name,
            "the index is older than the files: download both again");
      else if (!stored_in(*tensor, shard[file]))
        add(Severity::kError, "index-mismatch", file, entry.tensor,
            "the tensor in " + file_of(*tensor), "in this file, by " + in_.index_name,
            "the index is older than the files: download both again");
    }
    check_unindexed();
    check_total(whole && !in_.losses.any());
  }

  // One line for all tensors that an unreadable header hides.
  void report_unchecked() {
    if (!in_.index.usable && unchecked_ > 0) {
      std::string files;
      for (const std::string& file : in_.losses.unread) files += (files.empty() ? "" : ", ") + file;
      unchecked_in_[files] = unchecked_;
    }
    for (const auto& [file, count] : unchecked_in_)
      add(Severity::kNote, "not-checked", file, "",
          std::to_string(count) + (in_.index.usable ? " tensors of the index in" : " tensors in") +
              (in_.index.usable ? " a file" : " no file but perhaps one") +
              " that could not be read",
          "a file that can be read",
          "these tensors were not checked: mend the file and inspect again");
  }

  bool stored_in(const TensorInfo& first, int32_t file) const {
    const auto& all = in_.table.all();
    for (auto i = static_cast<size_t>(in_.table.index_of(&first));
         i < all.size() && all[i].name == first.name; ++i)
      if (all[i].file == file) return true;
    return false;
  }

  // Files beside the index: harmless unless the model would take its weights from them.
  void check_unindexed() {
    std::map<int32_t, std::pair<int64_t, int64_t>> stray;  // file -> tensors, of those used
    for (size_t i = 0; i < used_.size(); ++i) {
      const TensorInfo& tensor = in_.table.all()[i];
      if (in_.index.find(tensor.name) != nullptr) continue;
      if (is_stray_file(tensor.file)) {
        ++stray[tensor.file].first;
        stray[tensor.file].second += used_[i] ? 1 : 0;
      } else {
        add(Severity::kNote, "not-in-index", file_of(tensor), tensor.name,
            "a tensor the index does not name", "in " + in_.index_name, "it is used all the same");
      }
    }
    for (const auto& [file, count] : stray) {
      const bool needed = count.second > 0;
      add(needed ? Severity::kError : Severity::kNote, "stray-file",
          in_.files[static_cast<size_t>(file)], "",
          std::to_string(count.first) + " tensors in a file that the index does not name, " +
              std::to_string(count.second) + " of them part of the model",
          "only files that " + in_.index_name + " names",
          needed ? "the index is older than the files: download it again, or remove it"
                 : "the file is ignored");
    }
  }

  bool is_stray_file(int32_t file) {
    const auto [at, fresh] = stray_.try_emplace(file, false);
    if (fresh) {
      const std::string& name = in_.files[static_cast<size_t>(file)];
      const auto& named = in_.index.files;
      at->second = std::find(named.begin(), named.end(), name) == named.end();
    }
    return at->second;
  }

  void check_total(bool whole) {
    if (!in_.index.total_size || !whole) return;
    int64_t total = 0;
    for (const TensorInfo& tensor : in_.table.all())
      if (!is_stray_file(tensor.file)) total += tensor.bytes;
    if (total != *in_.index.total_size)
      add(Severity::kNote, "total-size", in_.index_name, "metadata.total_size",
          std::to_string(*in_.index.total_size), std::to_string(total) + " bytes of tensors",
          "nothing to do");
  }

  const AuditInput& in_;
  std::vector<ShapeClaim>* claims_;
  Findings* findings_;
  std::vector<bool> used_;
  QuantAudit quantisation_{in_.resolver.quant()};
  std::map<int32_t, bool> stray_;
  int64_t matched_ = 0;
  int64_t unchecked_ = 0;                        ///< without an index: in no readable file
  std::map<std::string, int64_t> unchecked_in_;  ///< by file
};

}  // namespace

void audit_tensors(const AuditInput& input, std::vector<ShapeClaim>* claims, Findings* findings) {
  Audit(input, claims, findings).run();
}

}  // namespace trine::checkpoint
