// Limits of the control group (v1 or v2) that this process lives in, parents included.
//
// `root` replaces "/" in tests. Absent, malformed or hostile files count as "no limit".
#pragma once

#include <cstdint>
#include <string>

namespace trine {

struct CgroupMemory {
  bool limited = false;
  int version = 0;              ///< 1 or 2, of the group that decides
  int64_t limit_bytes = 0;      ///< the lowest limit on the way up
  int64_t available_bytes = 0;  ///< the lowest (limit - use + page cache) on the way up
};
CgroupMemory cgroup_memory(const std::string& root);

/// CPU time that the group may use, in cores; 0 = no limit.
double cgroup_cpu_quota(const std::string& root);

}  // namespace trine
