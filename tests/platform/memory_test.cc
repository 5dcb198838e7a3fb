// Limits from fake /proc and cgroup trees, and buffers.
#include "platform/memory.h"

#include <gtest/gtest.h>

#include "platform/cgroup.h"
#include "support/temp_dir.h"

namespace trine {
namespace {

using testing::TempDir;

constexpr int64_t kMiB = int64_t{1} << 20;
const char* const kMeminfo =
    "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n"
    "Buffers:           10240 kB\nCached:          4194304 kB\n";
const char* const kMountV2 =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
const char* const kMountV1 =
    "31 23 0:27 / /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory\n"
    "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:6 - cgroup cgroup rw,cpu,cpuacct\n";

void write_v2(const TempDir& root, const std::string& group) {
  root.write("proc/meminfo", kMeminfo);
  root.write("proc/self/cgroup", "0::" + group + "\n");
  root.write("proc/self/mountinfo", kMountV2);
}

void write_v1(const TempDir& root, const std::string& group) {
  root.write("proc/meminfo", kMeminfo);
  root.write("proc/self/cgroup", "5:cpu,cpuacct:" + group + "\n4:memory:" + group + "\n0::/\n");
  root.write("proc/self/mountinfo", kMountV1);
}

TEST(MemoryLimit, WithoutGroupsIsWhatTheKernelCallsAvailable) {
  const TempDir root;
  root.write("proc/meminfo", kMeminfo);
  const MemoryLimit limit = memory_limit(root.path());
  EXPECT_EQ(limit.total_bytes, 16384 * kMiB);
  EXPECT_EQ(limit.available_bytes, 8192 * kMiB);
  EXPECT_EQ(limit.source, "RAM");
}

TEST(MemoryLimit, OldKernelsWithoutMemAvailableCountFreeAndCached) {
  const TempDir root;
  root.write("proc/meminfo", "MemTotal: 1024 kB\nMemFree: 100 kB\nCached: 50 kB\n");
  EXPECT_EQ(memory_limit(root.path()).available_bytes, 150 * 1024);
}

TEST(MemoryLimit, Version2CountsThePageCacheAsAvailable) {
  const TempDir root;
  write_v2(root, "/job");
  root.write("sys/fs/cgroup/job/memory.max", std::to_string(1000 * kMiB) + "\n");
  root.write("sys/fs/cgroup/job/memory.current", std::to_string(700 * kMiB) + "\n");
  root.write("sys/fs/cgroup/job/memory.stat", "anon 104857600\ninactive_file " +
                                                  std::to_string(400 * kMiB) + "\nactive_file " +
                                                  std::to_string(200 * kMiB) + "\n");
  const MemoryLimit limit = memory_limit(root.path());
  EXPECT_EQ(limit.total_bytes, 1000 * kMiB);
  EXPECT_EQ(limit.available_bytes, 900 * kMiB);
  EXPECT_EQ(limit.source, "cgroup v2 limit");
}

TEST(MemoryLimit, TheTightestParentDecides) {
  const TempDir root;
  write_v2(root, "/slice/service/job");
  root.write("sys/fs/cgroup/slice/service/job/memory.max", "max\n");
  root.write("sys/fs/cgroup/slice/service/job/memory.current", std::to_string(10 * kMiB));
  root.write("sys/fs/cgroup/slice/service/memory.max", std::to_string(4000 * kMiB));
  root.write("sys/fs/cgroup/slice/service/memory.current", std::to_string(3500 * kMiB));
  root.write("sys/fs/cgroup/slice/memory.max", std::to_string(3900 * kMiB));
  root.write("sys/fs/cgroup/slice/memory.current", std::to_string(1000 * kMiB));
  const MemoryLimit limit = memory_limit(root.path());
  EXPECT_EQ(limit.total_bytes, 3900 * kMiB);
  EXPECT_EQ(limit.available_bytes, 500 * kMiB);
}

TEST(MemoryLimit, SoftLimitOfVersion2Counts) {
  const TempDir root;
  write_v2(root, "/job");
  root.write("sys/fs/cgroup/job/memory.max", "max\n");
  root.write("sys/fs/cgroup/job/memory.high", std::to_string(512 * kMiB) + "\n");
  root.write("sys/fs/cgroup/job/memory.current", "0\n");
  EXPECT_EQ(memory_limit(root.path()).available_bytes, 512 * kMiB);
}

TEST(MemoryLimit, Version1WithParents) {
  const TempDir root;
  write_v1(root, "/docker/abc");
  root.write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
             std::to_string(2000 * kMiB) + "\n");
  root.write("sys/fs/cgroup/memory/docker/memory.usage_in_bytes",
             std::to_string(1500 * kMiB) + "\n");
  root.write("sys/fs/cgroup/memory/docker/memory.stat",
             "cache 1\ninactive_file 7\ntotal_inactive_file " + std::to_string(1000 * kMiB) +
                 "\ntotal_active_file " + std::to_string(100 * kMiB) + "\n");
  const MemoryLimit limit = memory_limit(root.path());
  EXPECT_EQ(limit.total_bytes, 2000 * kMiB);
  EXPECT_EQ(limit.available_bytes, 1600 * kMiB);
  EXPECT_EQ(limit.source, "cgroup v1 limit");
}

TEST(MemoryLimit, ContainerWhoseMountIsItsOwnGroup) {
  // Without a cgroup namespace the path names the host's tree, of which only the group is mounted.
  const TempDir root;
  write_v1(root, "/docker/abc/inner");
  root.write(
      "proc/self/mountinfo",
      "31 23 0:27 /docker/abc /sys/fs/cgroup/memory ro shared:5 - cgroup cgroup rw,memory\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(300 * kMiB) + "\n");
  root.write("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", std::to_string(200 * kMiB) + "\n");
  EXPECT_EQ(memory_limit(root.path()).total_bytes, 200 * kMiB);
}

TEST(MemoryLimit, GroupOutsideTheMountFallsBackToTheMountPoint) {
  const TempDir root;
  write_v2(root, "/../../elsewhere");
  root.write("sys/fs/cgroup/memory.max", std::to_string(100 * kMiB) + "\n");
  root.write("elsewhere/memory.max", "1\n");
  EXPECT_EQ(memory_limit(root.path()).total_bytes, 100 * kMiB);
}

TEST(MemoryLimit, MountPointWithBlanksIsUnescaped) {
  const TempDir root;
  write_v2(root, "/job");
  root.write("proc/self/mountinfo", "30 23 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  root.write("my groups/job/memory.max", std::to_string(100 * kMiB) + "\n");
  EXPECT_EQ(memory_limit(root.path()).total_bytes, 100 * kMiB);
}

TEST(MemoryLimit, LimitAboveRamChangesNothing) {
  const TempDir root;
  write_v2(root, "/job");
  root.write("sys/fs/cgroup/job/memory.max", "99999999999999\n");
  const MemoryLimit limit = memory_limit(root.path());
  EXPECT_EQ(limit.total_bytes, 16384 * kMiB);
  EXPECT_EQ(limit.source, "RAM");
}

TEST(MemoryLimit, UsageAboveTheLimitLeavesNothing) {
  const TempDir root;
  write_v2(root, "/job");
  root.write("sys/fs/cgroup/job/memory.max", "1048576\n");
  root.write("sys/fs/cgroup/job/memory.current", "9000000\n");
  EXPECT_EQ(memory_limit(root.path()).available_bytes, 0);
}

TEST(MemoryLimit, HostileFilesAreNoLimitAndNoCrash) {
  const std::string nul("\0\0", 2);
  for (const std::string& bad :
       {std::string(), std::string("-5\n"), std::string("0x10"), std::string("1e9"), nul,
        std::string("999999999999999999999999999999"), std::string("12 34"),
        std::string(70000, '7')}) {
    const TempDir root;
    write_v2(root, "/job");
    root.write("sys/fs/cgroup/job/memory.max", bad);
    root.write("sys/fs/cgroup/job/memory.current", bad);
    root.write("sys/fs/cgroup/job/memory.stat", bad);
    EXPECT_EQ(memory_limit(root.path()).total_bytes, 16384 * kMiB) << bad.substr(0, 40);
  }
  for (const std::string& bad :
       {std::string("::::"), std::string("0:"), nul, std::string(5000, '\n')}) {
    const TempDir root;
    root.write("proc/meminfo", bad);
    root.write("proc/self/cgroup", bad);
    root.write("proc/self/mountinfo", bad);
    const MemoryLimit limit = memory_limit(root.path());
    EXPECT_GT(limit.total_bytes, 0);
    EXPECT_LE(limit.available_bytes, limit.total_bytes);
  }
}

TEST(MemoryLimit, EmptyRootStillAnswersForThisMachine) {
  const TempDir root;
  EXPECT_GT(memory_limit(root.path()).total_bytes, 0);
  const MemoryLimit limit = memory_limit();
  EXPECT_GT(limit.available_bytes, 0);
  EXPECT_LE(limit.available_bytes, limit.total_bytes);
}

TEST(CpuQuota, Version2TakesTheTightestOnTheWayUp) {
  const TempDir root;
  write_v2(root, "/a/b");
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root.path()), 2.5);
  root.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root.path()), 0.5);
}

TEST(CpuQuota, Version1ReadsTheController) {
  const TempDir root;
  write_v1(root, "/job");
  const std::string folder = "sys/fs/cgroup/cpu,cpuacct/job/";
  root.write(folder + "cpu.cfs_quota_us", "-1\n");
  root.write(folder + "cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root.path()), 0);
  root.write(folder + "cpu.cfs_quota_us", "400000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root.path()), 4);
}

TEST(CpuQuota, NonsenseIsNoLimit) {
  for (const char* bad : {"", "max", "0 0", "-1 100000", "100000 0", "1 2 3", "x y", "100000"}) {
    const TempDir root;
    write_v2(root, "/job");
    root.write("sys/fs/cgroup/job/cpu.max", bad);
    EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root.path()), 0) << bad;
  }
}

TEST(Buffer, IsZeroAlignedAndHasItsSize) {
  for (const int64_t bytes :
       {int64_t{1}, int64_t{4095}, 2 * kMiB - 1, 2 * kMiB, 2 * kMiB + 1, 33 * kMiB}) {
    Result<Buffer> made = Buffer::allocate(bytes);
    ASSERT_TRUE(made.ok()) << made.status().message();
    Buffer buffer = std::move(made).value();
    EXPECT_EQ(buffer.size(), bytes);
    const auto address = reinterpret_cast<uintptr_t>(buffer.data());
    EXPECT_EQ(address % (bytes >= 2 * kMiB ? uintptr_t{2} << 20 : 4096u), 0u);
    EXPECT_EQ(buffer.as<uint8_t>()[0], 0);
    EXPECT_EQ(buffer.as<uint8_t>()[bytes - 1], 0);
    buffer.as<uint8_t>()[bytes - 1] = 7;
    Buffer moved;
    moved = std::move(buffer);
    EXPECT_EQ(moved.as<uint8_t>()[bytes - 1], 7);
  }
}

TEST(Buffer, EmptyIsAllowed) {
  Result<Buffer> made = Buffer::allocate(0);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->size(), 0);
}

TEST(Buffer, AbsurdSizesAreRefused) {
  for (const int64_t bytes : {int64_t{-1}, INT64_MAX, INT64_MIN, int64_t{1} << 59}) {
    const Result<Buffer> made = Buffer::allocate(bytes);
    ASSERT_FALSE(made.ok()) << bytes;
    EXPECT_EQ(made.status().code(), Code::kOutOfMemory);
  }
}

TEST(Rss, PeakSeesWhatWasTouched) {
  Buffer buffer = Buffer::allocate(64 * kMiB).value();
  const int64_t before = current_rss_bytes();
  for (int64_t i = 0; i < buffer.size(); i += 4096) buffer.as<char>()[i] = 1;
  EXPECT_GE(current_rss_bytes(), before + 60 * kMiB);
  EXPECT_GE(peak_rss_bytes(), current_rss_bytes() - 4 * kMiB);
  if (!reset_peak_rss()) GTEST_SKIP() << "this kernel keeps the peak";
  buffer = Buffer();
  ASSERT_TRUE(reset_peak_rss());
  EXPECT_LE(peak_rss_bytes(), before + 32 * kMiB);
}

TEST(FormatBytes, SpellsPlainAndLargeSizes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(27648), "27,648 B");
  EXPECT_EQ(format_bytes(-27648), "-27,648 B");
  EXPECT_EQ(format_bytes(-100), "-100 B");
  EXPECT_EQ(format_bytes(443 * kMiB), "443 MiB");
  EXPECT_EQ(format_bytes(1536 * kMiB), "1.50 GiB");
  EXPECT_EQ(format_bytes(int64_t{3} << 40), "3.00 TiB");
}

}  // namespace
}  // namespace trine
