// Cores limited by affinity, and the number of threads that follows from cores and quota.
#include "platform/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <set>

namespace trine {
namespace {

Topology with(int cores, double quota) {
  Topology topology;
  for (int i = 0; i < cores; ++i) topology.cores.push_back({i, 0});
  topology.cpu_quota = quota;
  return topology;
}

TEST(Topology, CoresAreDistinctAllowedAndOnDenseNodes) {
  const Topology topology = discover_topology();
  ASSERT_FALSE(topology.cores.empty());
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  std::set<int> cpus;
  std::set<int> nodes;
  for (const Core& core : topology.cores) {
    EXPECT_TRUE(cpus.insert(core.cpu).second) << "cpu " << core.cpu << " appears twice";
    EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(core.cpu), &allowed)) << "cpu " << core.cpu;
    nodes.insert(core.node);
  }
  EXPECT_EQ(*nodes.begin(), 0);
  EXPECT_EQ(*nodes.rbegin() + 1, topology.node_count);
  EXPECT_EQ(static_cast<int>(nodes.size()), topology.node_count);
}

TEST(Topology, NoTwoCoresAreSiblingsOfOneAnother) {
  std::set<std::string> groups;
  for (const Core& core : discover_topology().cores) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(core.cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) GTEST_SKIP() << "this kernel lists no siblings";
    EXPECT_TRUE(groups.insert(siblings).second) << "two threads of the core with " << siblings;
  }
}

TEST(Topology, AffinityLimitsTheCores) {
  cpu_set_t before;
  CPU_ZERO(&before);
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  const int last = discover_topology().cores.back().cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(last), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const Topology limited = discover_topology();
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
  ASSERT_EQ(limited.cores.size(), 1u);
  EXPECT_EQ(limited.cores[0].cpu, last);
  EXPECT_EQ(limited.node_count, 1);
  EXPECT_EQ(limited.default_threads(), 1);
}

TEST(Topology, DefaultThreadsAreTheCoresCappedByTheQuota) {
  EXPECT_EQ(with(8, 0).default_threads(), 8);
  EXPECT_EQ(with(8, 16).default_threads(), 8);
  EXPECT_EQ(with(8, 8).default_threads(), 8);
  EXPECT_EQ(with(8, 3).default_threads(), 3);
  EXPECT_EQ(with(8, 3.9).default_threads(), 3);
  EXPECT_EQ(with(8, 0.5).default_threads(), 1);
  EXPECT_EQ(with(0, 0).default_threads(), 1);
}

}  // namespace
}  // namespace trine
