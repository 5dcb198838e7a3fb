// Collects what platform knows about this machine.
#include "toolkit/machine.h"

#include <cmath>

#include "platform/file.h"
#include "platform/topology.h"

namespace trine {
namespace {

// The file reads "always [madvise] never"; the word in brackets is in force.
std::string transparent_huge_pages() {
  const auto text = read_file("/sys/kernel/mm/transparent_hugepage/enabled", 4096);
  if (!text.ok()) return "unknown";
  const size_t open = text->find('[');
  const size_t close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return "unknown";
  return text->substr(open + 1, close - open - 1);
}

std::string one_decimal(double value) {
  const int64_t tenths = std::llround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace

Machine describe_machine(Isa isa) {
  Machine machine;
  machine.cpu = cpu_model_name();
  for (const Isa level : supported_isas()) machine.isa_levels.emplace_back(isa_name(level));
  machine.isa = isa_name(isa);
  const Topology topology = discover_topology();
  machine.cores = static_cast<int>(topology.cores.size());
  machine.nodes = topology.node_count;
  machine.cpu_quota = topology.cpu_quota;
  machine.threads = topology.default_threads();
  machine.memory = memory_limit();
  machine.huge_pages = transparent_huge_pages();
  return machine;
}

json::Value to_json(const Machine& machine) {
  json::Value levels = json::Value::array();
  for (const std::string& level : machine.isa_levels) levels.push(level);
  json::Value value = json::Value::object();
  value.set("cpu", machine.cpu);
  value.set("isa_levels", std::move(levels));
  value.set("isa", machine.isa);
  value.set("cores", machine.cores);
  value.set("numa_nodes", machine.nodes);
  value.set("cpu_quota", machine.cpu_quota > 0 ? json::Value(machine.cpu_quota) : json::Value());
  value.set("threads", machine.threads);
  value.set("memory_total_bytes", machine.memory.total_bytes);
  value.set("memory_available_bytes", machine.memory.available_bytes);
  value.set("memory_source", machine.memory.source);
  value.set("transparent_huge_pages", machine.huge_pages);
  return value;
}

std::string to_text(const Machine& machine) {
  std::string levels;
  for (const std::string& level : machine.isa_levels)
    levels += (levels.empty() ? "" : ", ") + level;
  std::string text = machine.cpu + "\n";
  text += "levels " + levels + "; using " + machine.isa + "\n";
  text += std::to_string(machine.cores) + (machine.cores == 1 ? " core" : " cores") + " on " +
          std::to_string(machine.nodes) + (machine.nodes == 1 ? " memory node" : " memory nodes");
  if (machine.cpu_quota > 0)
    text += ", limited to " + one_decimal(machine.cpu_quota) + " by the cgroup";
  text += "; " + std::to_string(machine.threads) + " threads by default\n";
  text += format_bytes(machine.memory.available_bytes) + " of " +
          format_bytes(machine.memory.total_bytes) + " available (" + machine.memory.source +
          "); huge pages: " + machine.huge_pages + "\n";
  return text;
}

}  // namespace trine
