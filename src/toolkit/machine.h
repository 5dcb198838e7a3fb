// The machine trine runs on, as inspect and bench report it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "platform/cpu.h"
#include "platform/memory.h"

namespace trine {

struct Machine {
  std::string cpu;
  std::vector<std::string> isa_levels;  ///< all that this CPU can execute, lowest first
  std::string isa;                      ///< the one in use
  int cores = 0;                        ///< physical cores this process may use
  int nodes = 1;                        ///< NUMA
  double cpu_quota = 0;                 ///< cgroup limit in cores; 0 = none
  int threads = 0;                      ///< started by default
  MemoryLimit memory;
  std::string huge_pages;  ///< "always", "madvise", "never" or "unknown"
};

Machine describe_machine(Isa isa);
json::Value to_json(const Machine& machine);
/// A few lines for people.
std::string to_text(const Machine& machine);

}  // namespace trine
