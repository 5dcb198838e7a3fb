// Physical cores and memory nodes as hwloc sees them, limited to what the calling thread may use.
#include "platform/topology.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "platform/cgroup.h"

namespace trine {
namespace {

using BitmapPtr = std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)>;

BitmapPtr make_bitmap() { return BitmapPtr(hwloc_bitmap_alloc(), hwloc_bitmap_free); }

// Owns a loaded topology; null when hwloc cannot read this machine.
class Machine {
 public:
  Machine() {
    if (hwloc_topology_init(&handle_) != 0) {
      handle_ = nullptr;
      return;
    }
    // Only what is read below: devices and caches would cost tens of milliseconds.
    hwloc_topology_set_all_types_filter(handle_, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(handle_, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(handle_) != 0) {
      hwloc_topology_destroy(handle_);
      handle_ = nullptr;
    }
  }
  ~Machine() {
    if (handle_ != nullptr) hwloc_topology_destroy(handle_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  hwloc_topology_t get() const { return handle_; }

 private:
  hwloc_topology_t handle_ = nullptr;
};

// The hardware threads that the calling thread may run on: those it starts inherit its mask.
BitmapPtr allowed_cpus(hwloc_topology_t machine) {
  BitmapPtr allowed = make_bitmap();
  if (hwloc_get_cpubind(machine, allowed.get(), HWLOC_CPUBIND_THREAD) != 0) {
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(machine));
  } else {
    hwloc_bitmap_and(allowed.get(), allowed.get(), hwloc_topology_get_allowed_cpuset(machine));
  }
  return allowed;
}

std::vector<Core> cores_of(hwloc_topology_t machine) {
  std::vector<Core> cores;
  const BitmapPtr allowed = allowed_cpus(machine);
  // Some virtual machines show no cores: then every hardware thread counts as one.
  const hwloc_obj_type_t type =
      hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  const BitmapPtr usable = make_bitmap();
  for (hwloc_obj_t core = hwloc_get_next_obj_by_type(machine, type, nullptr); core != nullptr;
       core = hwloc_get_next_obj_by_type(machine, type, core)) {
    hwloc_bitmap_and(usable.get(), core->cpuset, allowed.get());
    const int cpu = hwloc_bitmap_first(usable.get());
    if (cpu < 0) continue;
    const int node = core->nodeset == nullptr ? 0 : hwloc_bitmap_first(core->nodeset);
    cores.push_back({cpu, std::max(node, 0)});
  }
  return cores;
}

// Without hwloc: the affinity mask alone.
std::vector<Core> cores_by_affinity() {
  std::vector<Core> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cores.push_back({cpu, 0});
    }
  }
  if (cores.empty()) cores.push_back({0, 0});
  return cores;
}

// Renumbers nodes 0, 1, ... and puts the cores of one node together; returns the number of nodes.
int make_dense(std::vector<Core>* cores) {
  std::vector<int> nodes;
  for (const Core& core : *cores) nodes.push_back(core.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (Core& core : *cores) {
    core.node =
        static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), core.node) - nodes.begin());
  }
  std::stable_sort(cores->begin(), cores->end(),
                   [](const Core& a, const Core& b) { return a.node < b.node; });
  return static_cast<int>(nodes.size());
}

}  // namespace

int Topology::default_threads() const {
  int threads = std::max(1, static_cast<int>(cores.size()));
  // A quota of 3.5 cores runs 4 threads into the throttle: 3 finish sooner.
  if (cpu_quota > 0 && cpu_quota < threads) {
    threads = std::max(1, static_cast<int>(std::floor(cpu_quota + 1e-9)));
  }
  return threads;
}

Topology discover_topology() {
  Topology topology;
  const Machine machine;
  if (machine.get() != nullptr) topology.cores = cores_of(machine.get());
  if (topology.cores.empty()) topology.cores = cores_by_affinity();
  topology.node_count = make_dense(&topology.cores);
  topology.cpu_quota = cgroup_cpu_quota("");
  return topology;
}

}  // namespace trine
