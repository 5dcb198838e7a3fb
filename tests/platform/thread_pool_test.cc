// Every task exactly once, whatever the numbers of tasks and threads; also run under TSan.
#include "platform/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace trine {
namespace {

ThreadPool::Options threads(int n) {
  ThreadPool::Options options;
  options.threads = n;
  return options;
}

TEST(ThreadPool, RunsEveryTaskExactlyOnceForRandomSizes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 12; ++round) {
    const int workers = std::uniform_int_distribution<int>(1, 9)(random);
    ThreadPool pool(threads(workers));
    ASSERT_EQ(pool.threads(), workers);
    for (int job = 0; job < 40; ++job) {
      const auto tasks = std::uniform_int_distribution<int64_t>(0, 60)(random);
      std::vector<int> runs(static_cast<size_t>(tasks), 0);  // plain: TSan sees a double run
      std::atomic<bool> worker_in_range{true};
      const auto count = [&](int64_t task, int worker) {
        ++runs[static_cast<size_t>(task)];
        if (worker < 0 || worker >= workers) worker_in_range = false;
      };
      if (job % 2 == 0) {
        pool.parallel_for(tasks, count);
      } else {
        pool.parallel_for_static(tasks, count);
      }
      EXPECT_EQ(runs, std::vector<int>(static_cast<size_t>(tasks), 1));
      EXPECT_TRUE(worker_in_range);
    }
  }
}

TEST(ThreadPool, StaticSharesAreContiguousEvenAndAlwaysTheSame) {
  ThreadPool pool(threads(4));
  for (const int64_t tasks : {1, 3, 4, 5, 11, 64}) {
    std::vector<int> owner(static_cast<size_t>(tasks), -1);
    pool.parallel_for_static(
        tasks, [&](int64_t task, int worker) { owner[static_cast<size_t>(task)] = worker; });
    EXPECT_TRUE(std::is_sorted(owner.begin(), owner.end()));
    std::vector<int64_t> sizes;
    for (int w = 0; w < 4; ++w) sizes.push_back(std::count(owner.begin(), owner.end(), w));
    EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()) -
                  *std::min_element(sizes.begin(), sizes.end()),
              1);
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<int> again(static_cast<size_t>(tasks), -1);
      pool.parallel_for_static(
          tasks, [&](int64_t task, int worker) { again[static_cast<size_t>(task)] = worker; });
      EXPECT_EQ(again, owner);
    }
  }
}

TEST(ThreadPool, StaticWorkersAreDistinctThreads) {
  ThreadPool pool(threads(5));
  std::vector<std::thread::id> ids(5);
  pool.parallel_for_static(5, [&](int64_t, int worker) {
    ids[static_cast<size_t>(worker)] = std::this_thread::get_id();
  });
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 5u);
  EXPECT_EQ(ids[0], std::this_thread::get_id());
}

TEST(ThreadPool, TasksOfAStuckWorkerAreTakenByOthers) {
  // The first task waits until all others have run: only stealing lets that happen.
  ThreadPool pool(threads(3));
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done{0};
    pool.parallel_for(30, [&](int64_t task, int) {
      if (task == 0) {
        while (done.load() < 29) std::this_thread::yield();
      } else {
        done.fetch_add(1);
      }
    });
    EXPECT_EQ(done.load(), 29);
  }
}

TEST(ThreadPool, WritesOfOneJobAreSeenByTheNext) {
  ThreadPool pool(threads(4));
  std::vector<int64_t> values(257, 1);
  std::vector<int64_t> sums(257, 0);
  for (int round = 0; round < 300; ++round) {
    pool.parallel_for(257, [&](int64_t task, int) { values[static_cast<size_t>(task)] += task; });
    pool.parallel_for(257, [&](int64_t task, int) {
      sums[static_cast<size_t>(task)] += values[static_cast<size_t>(256 - task)];
    });
  }
  for (int64_t i = 0; i < 257; ++i) {
    EXPECT_EQ(sums[static_cast<size_t>(i)], 300 + (256 - i) * 300 * 301 / 2);
  }
}

TEST(ThreadPool, ManyTinyJobsWithPausesBetweenThem) {
  // Long enough pauses put the workers to sleep, so that waking is met in every state.
  ThreadPool pool(threads(3));
  int64_t total = 0;
  for (int job = 0; job < 3000; ++job) {
    std::atomic<int64_t> sum{0};
    pool.parallel_for(
        3, [&](int64_t task, int) { sum.fetch_add(task + 1, std::memory_order_relaxed); });
    total += sum.load();
    if (job % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(40 + job / 10));
  }
  EXPECT_EQ(total, 6 * 3000);
}

TEST(ThreadPool, AnotherPoolMayWorkInsideATask) {
  ThreadPool outer(threads(2));
  std::atomic<int64_t> sum{0};
  outer.parallel_for(4, [&](int64_t a, int) {
    ThreadPool inner(threads(3));
    inner.parallel_for(10, [&](int64_t b, int) { sum.fetch_add(a * 10 + b); });
  });
  EXPECT_EQ(sum.load(), 780);
}

TEST(ThreadPool, PoolsOfDifferentThreadsDoNotDisturbEachOther) {
  std::vector<int64_t> sums(3, 0);
  std::vector<std::thread> users;
  for (size_t u = 0; u < 3; ++u) {
    users.emplace_back([&, u] {
      ThreadPool pool(threads(2));
      for (int job = 0; job < 200; ++job) {
        std::atomic<int64_t> sum{0};
        pool.parallel_for(7, [&](int64_t task, int) { sum.fetch_add(task); });
        sums[u] += sum.load();
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(sums, std::vector<int64_t>(3, 21 * 200));
}

TEST(ThreadPool, ExceptionReachesTheCallerAndThePoolLivesOn) {
  for (const int workers : {1, 3}) {
    ThreadPool pool(threads(workers));
    for (int round = 0; round < 5; ++round) {
      EXPECT_THROW(pool.parallel_for(16,
                                     [](int64_t task, int) {
                                       if (task == 11) throw std::runtime_error("task 11");
                                     }),
                   std::runtime_error);
      std::atomic<int> runs{0};
      pool.parallel_for(16, [&](int64_t, int) { runs.fetch_add(1); });
      EXPECT_EQ(runs.load(), 16);
    }
  }
}

TEST(ThreadPool, NoTasksAndOddOptionsAreHarmless) {
  for (const int workers : {-3, 0, 1}) {
    ThreadPool pool(threads(workers));
    EXPECT_EQ(pool.threads(), 1);
    int runs = 0;
    pool.parallel_for(0, [&](int64_t, int) { ++runs; });
    pool.parallel_for(-7, [&](int64_t, int) { ++runs; });
    pool.parallel_for_static(2, [&](int64_t, int) { ++runs; });
    EXPECT_EQ(runs, 2);
  }
}

TEST(ThreadPool, PinnedWorkersStillRunEverything) {
  ThreadPool::Options options = threads(4);
  options.pin = true;
  ThreadPool pool(options);
  std::atomic<int> runs{0};
  for (int job = 0; job < 50; ++job)
    pool.parallel_for_static(9, [&](int64_t, int) { runs.fetch_add(1); });
  EXPECT_EQ(runs.load(), 450);
}

TEST(ThreadPool, StartingAndStoppingWithoutWorkIsClean) {
  for (int i = 0; i < 30; ++i) ThreadPool pool(threads(1 + i % 5));
}

}  // namespace
}  // namespace trine
