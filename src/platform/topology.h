// Which cores and memory nodes this process may use (hwloc is included by topology.cc only).
#pragma once

#include <string>
#include <vector>

namespace trine {

struct Core {
  int cpu = 0;   ///< the first hardware thread of the core that this process may run on
  int node = 0;  ///< NUMA node, 0-based and dense
};

struct Topology {
  std::vector<Core> cores;  ///< physical cores, limited by affinity; SMT siblings dropped
  int node_count = 1;
  double cpu_quota = 0;  ///< cgroup (v1 or v2) CPU limit in cores; 0 = none
  /// Threads to start by default: cores, capped by the quota, at least 1.
  int default_threads() const;
};

Topology discover_topology();

}  // namespace trine
