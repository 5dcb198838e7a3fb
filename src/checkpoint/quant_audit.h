// Modules that are stored in another way than quantization_config declares. Tensors decide (spec
// section 8), so these are notes: one per way, not one per module.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/finding.h"
#include "checkpoint/quant_config.h"

namespace trine::checkpoint {

class QuantAudit {
 public:
  explicit QuantAudit(const QuantConfig& quant) : quant_(quant) {}
  /// A module whose tensors were understood.
  void see(const Linear& linear);
  /// A tensor of which only the name is known.
  void see_name(std::string_view tensor);
  void report(Findings* findings) const;

 private:
  struct Way {
    std::string expected;
    std::string action;
    std::string first;
    int64_t modules = 0;
  };
  bool declares(WeightCoding coding) const;
  void count(const std::string& found, std::string expected, std::string action,
             std::string_view module);

  const QuantConfig& quant_;
  std::map<std::string, Way> ways_;  ///< by what was found
};

}  // namespace trine::checkpoint
