#include "checkpoint/quant_audit.h"

#include <algorithm>

#include "checkpoint/quant_rules.h"

namespace trine::checkpoint {
namespace {

constexpr const char* kDecided = "the tensors decide: they are read as ";

}  // namespace

bool QuantAudit::declares(WeightCoding coding) const {
  const auto& schemes = quant_.schemes();
  return std::any_of(schemes.begin(), schemes.end(),
                     [coding](const QuantScheme& s) { return format_holds(s.format, coding); });
}

void QuantAudit::count(const std::string& found, std::string expected, std::string action,
                       std::string_view module) {
  Way& way = ways_[found];
  if (++way.modules > 1) return;
  way = {std::move(expected), std::move(action), std::string(module), 1};
}

void QuantAudit::see(const Linear& linear) {
  if (linear.coding == WeightCoding::kPlain) return;
  const std::string format(format_of_coding(linear.coding));
  if (!quant_.present())
    return count("no such object, and " + format + " weights", "the object that describes them",
                 kDecided + format, linear.name);
  if (!declares(linear.coding))
    return count(format + " weights", "a config group of this format", kDecided + format,
                 linear.name);
  // Patterns are tried only where they can tell something.
  if (quant_.schemes().size() == 1 && linear.zero_point == nullptr) return;
  const QuantScheme* scheme = quant_.resolve(linear.name, "Linear");
  if (scheme == nullptr) return;
  if (!format_holds(scheme->format, linear.coding))
    count(format + " weights that config group " + scheme->group + " targets",
          "format " + scheme->format, kDecided + format, linear.name);
  else if (scheme->symmetric && linear.zero_point != nullptr)
    count("zero points of weights that config group " + scheme->group + " calls symmetric",
          "none, or symmetric false", "the tensors decide: the zero points are subtracted",
          linear.name);
}

void QuantAudit::see_name(std::string_view tensor) {
  constexpr std::string_view kPacked = ".weight_packed";
  if (quant_.present() || !tensor.ends_with(kPacked)) return;
  tensor.remove_suffix(kPacked.size());
  count("no such object, and packed weights", "the object that describes them",
        "the tensors decide once they are downloaded", tensor);
}

void QuantAudit::report(Findings* findings) const {
  for (const auto& [found, way] : ways_)
    add_finding(findings,
                {.severity = Severity::kNote,
                 .kind = "quantization-differs",
                 .file = "config.json",
                 .tensor = "quantization_config",
                 .found = found + " in " + std::to_string(way.modules) +
                          (way.modules == 1 ? " module: " : " modules, the first ") + way.first,
                 .expected = way.expected,
                 .action = way.action});
}

}  // namespace trine::checkpoint
