// The pool behind parallel_for: a job is opened, worked on by whoever is awake, closed.
//
// The calling thread is worker 0 and never waits for a worker that has not begun: it takes that
// worker's tasks itself. So a worker that sleeps, or whose core runs something else, costs nothing
// but its share. Whoever waits spins for some tens of microseconds (the gap between two loops of a
// forward pass), then sleeps in a futex.
//
// `epoch` is odd while a job is open. A worker raises its `busy` flag and then looks at the epoch
// again; the caller closes the job and then waits for the flags. With sequentially consistent
// accesses one of the two sees the other, so nobody works on a job that is closed and refilled.
#include "platform/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "platform/topology.h"

namespace trine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kSpinTime(50);

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// std::atomic<uint32_t> is a plain word (checked below), which is what the kernel waits on.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void futex_wait(std::atomic<uint32_t>* word, uint32_t expected) {
  ::syscall(SYS_futex, static_cast<void*>(word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>* word, int count) {
  ::syscall(SYS_futex, static_cast<void*>(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

int cpus_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

void pin_to(std::thread* thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  // A wish: a core that went offline leaves the thread where the scheduler puts it.
  ::pthread_setaffinity_np(thread->native_handle(), sizeof(set), &set);
}

}  // namespace

struct ThreadPool::Impl {
  // Two lines apart: processors fetch neighbouring cache lines in pairs.
  struct alignas(128) Worker {
    std::atomic<int64_t> next{0};   // the first task of the share that nobody has taken
    int64_t end = 0;                // of the share; written while no job is open
    std::atomic<uint32_t> busy{0};  // 1 between looking at a job and leaving it
    std::atomic<uint32_t> left{0};  // the last epoch whose own share is done (static jobs)
  };

  std::vector<Worker> workers;
  std::vector<std::thread> threads;
  int count = 1;  // workers: the caller and the threads that the system let us start
  bool spins = true;

  alignas(128) std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> sleepers{0};  // workers asleep, or about to be, on `epoch`
  std::atomic<bool> stopping{false};
  alignas(128) std::atomic<uint32_t> progress{0};  // bumped for a caller that sleeps
  std::atomic<bool> caller_sleeps{false};

  // The job; written while none is open.
  TaskFn fn = nullptr;
  void* context = nullptr;
  bool steal = true;
  std::mutex failure_mutex;
  std::exception_ptr failure;

  explicit Impl(int workers_max) : workers(static_cast<size_t>(workers_max)) {}

  // True as soon as `done`; false when the time for spinning is over.
  template <typename Done>
  bool spin(Done&& done) const {
    if (done()) return true;
    if (!spins) return false;
    const Clock::time_point until = Clock::now() + kSpinTime;
    do {
      for (int i = 0; i < 32; ++i) {
        pause_cpu();
        if (done()) return true;
      }
    } while (Clock::now() < until);
    return false;
  }

  void run_task(int64_t task, int worker) {
    try {
      fn(context, task, worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void run_share(Worker* share, int worker) {
    // The load first: a counter that only grows by takers cannot run away.
    while (share->next.load(std::memory_order_relaxed) < share->end) {
      const int64_t task = share->next.fetch_add(1, std::memory_order_relaxed);
      if (task >= share->end) return;
      run_task(task, worker);
    }
  }

  void work(int worker) {
    run_share(&workers[static_cast<size_t>(worker)], worker);
    if (!steal) return;
    for (int i = 1; i < count; ++i) {
      run_share(&workers[static_cast<size_t>((worker + i) % count)], worker);
    }
  }

  void tell_caller() {
    if (!caller_sleeps.load()) return;
    progress.fetch_add(1);
    futex_wake(&progress, 1);
  }

  // The epoch of an open job other than `seen`, once there is one.
  uint32_t await_job(uint32_t seen) {
    const auto ready = [&] {
      const uint32_t now = epoch.load(std::memory_order_acquire);
      return now % 2 == 1 && now != seen;
    };
    while (!spin(ready)) {
      sleepers.fetch_add(1);
      const uint32_t now = epoch.load();
      if (now % 2 == 0 || now == seen) futex_wait(&epoch, now);
      sleepers.fetch_sub(1);
    }
    return epoch.load(std::memory_order_acquire);
  }

  void worker_loop(int index) {
    Worker& self = workers[static_cast<size_t>(index)];
    uint32_t seen = 0;
    for (;;) {
      const uint32_t job = await_job(seen);
      if (stopping.load()) return;
      self.busy.store(1);
      if (job % 2 == 1 && epoch.load() == job) {
        work(index);
        self.left.store(job, std::memory_order_release);
        seen = job;
      }
      self.busy.store(0);
      tell_caller();
    }
  }

  template <typename Done>
  void caller_wait(Done&& done) {
    while (!spin(done)) {
      caller_sleeps.store(true);
      const uint32_t now = progress.load();
      if (!done()) futex_wait(&progress, now);
      caller_sleeps.store(false);
    }
  }

  void run(int64_t tasks, TaskFn task_fn, void* task_context, bool may_steal) {
    fn = task_fn;
    context = task_context;
    steal = may_steal;
    int64_t begin = 0;
    for (int w = 0; w < count; ++w) {
      Worker& worker = workers[static_cast<size_t>(w)];
      worker.next.store(begin, std::memory_order_relaxed);
      begin += tasks / count + (w < tasks % count ? 1 : 0);
      worker.end = begin;
    }
    const uint32_t job = epoch.load(std::memory_order_relaxed) + 1;
    epoch.store(job);
    if (sleepers.load() > 0) {
      futex_wake(&epoch, steal ? static_cast<int>(std::min<int64_t>(tasks - 1, count)) : INT_MAX);
    }
    work(0);
    if (!steal) {
      for (int w = 1; w < std::min<int64_t>(count, tasks); ++w) {
        Worker& worker = workers[static_cast<size_t>(w)];
        caller_wait([&] { return worker.left.load(std::memory_order_acquire) == job; });
      }
    }
    epoch.store(job + 1);
    for (int w = 1; w < count; ++w) {
      Worker& worker = workers[static_cast<size_t>(w)];
      caller_wait([&] { return worker.busy.load() == 0; });
    }
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }
};

ThreadPool::ThreadPool(Options options)
    : impl_(std::make_unique<Impl>(std::max(1, options.threads))) {
  const int wanted = std::max(1, options.threads);
  // With more threads than processors a spinning one keeps a working one from its core.
  impl_->spins = wanted <= cpus_allowed();
  std::vector<Core> cores;
  if (options.pin && wanted > 1) cores = discover_topology().cores;
  impl_->threads.reserve(static_cast<size_t>(wanted));
  for (int w = 1; w < wanted; ++w) {
    try {
      impl_->threads.emplace_back([this, w] { impl_->worker_loop(w); });
    } catch (const std::system_error&) {
      break;  // a limit on processes: fewer threads give the same results
    }
    if (!cores.empty()) {
      pin_to(&impl_->threads.back(), cores[static_cast<size_t>(w) % cores.size()].cpu);
    }
  }
  impl_->count = 1 + static_cast<int>(impl_->threads.size());
}

ThreadPool::~ThreadPool() {
  impl_->stopping.store(true);
  impl_->epoch.fetch_add(1);  // none is open, so this makes it odd
  futex_wake(&impl_->epoch, INT_MAX);
  for (std::thread& thread : impl_->threads) thread.join();
}

int ThreadPool::threads() const { return impl_->count; }

void ThreadPool::run(int64_t tasks, TaskFn fn, void* context, bool steal) {
  if (tasks <= 0) return;
  if (impl_->count == 1 || tasks == 1) {
    for (int64_t task = 0; task < tasks; ++task) fn(context, task, 0);
    return;
  }
  impl_->run(tasks, fn, context, steal);
}

}  // namespace trine
