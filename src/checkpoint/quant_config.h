// quantization_config of compressed-tensors (and DeepSeek's "fp8"): which module is stored how.
//
// Tensor names are believed before patterns (spec section 8): the released K3 keeps modules plain
// that no ignore pattern names. So a scheme is asked only where names leave a choice (group sizes,
// whether an fp8 weight without a scale has lost it).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/finding.h"
#include "checkpoint/pattern.h"

namespace trine::checkpoint {

struct QuantScheme {
  std::string group;   ///< name of the config group
  std::string format;  ///< "mxfp4-pack-quantized", ...
  int64_t num_bits = 0;
  std::string type;        ///< "int" or "float"
  std::string strategy;    ///< "tensor", "channel", "group", "block", "tensor_group"
  int64_t group_size = 0;  ///< 0 = not given
  int64_t block_out = 0;   ///< block_structure
  int64_t block_in = 0;
  bool symmetric = true;
  bool consistent = true;  ///< else its fields were refused and say nothing about tensors
};

/// A module name, a class name, or a pattern.
struct ModuleMatcher {
  std::string text;
  std::optional<Pattern> pattern;
  bool match(std::string_view name) const { return pattern ? pattern->match(name) : text == name; }
};

class QuantConfig {
 public:
  /// `value` may be null (not quantised).
  static QuantConfig parse(const json::Value* value, const std::string& file, Findings* findings);

  bool present() const { return present_; }
  const std::vector<QuantScheme>& schemes() const { return schemes_; }
  /// The scheme of a module as compressed-tensors resolves it: ignored modules have none; exact
  /// names come before patterns, both before class names. Null when no target fits.
  const QuantScheme* resolve(std::string_view module, std::string_view module_class) const;

 private:
  struct Target {
    ModuleMatcher matcher;
    size_t scheme = 0;
  };
  void parse_group(const std::string& name, const json::Value& value, const std::string& file,
                   Findings* findings);
  void add_targets(const json::Value* list, const std::string& key, const std::string& file,
                   Findings* findings);
  void parse_deepseek(const json::Value& value);

  bool present_ = false;
  std::string default_format_;
  std::vector<QuantScheme> schemes_;
  std::vector<Target> targets_;  ///< in the order of trial
  std::vector<ModuleMatcher> ignore_;
};

}  // namespace trine::checkpoint
