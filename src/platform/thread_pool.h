// Worker threads for compute: a fixed pool, one parallel_for at a time, few and cheap barriers.
//
// Results never depend on the number of threads or on who ran a task: a task writes only its own
// outputs, and no reduction crosses tasks (docs/design/numerics.md). So tasks may be stolen freely.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace trine {

class ThreadPool {
 public:
  struct Options {
    int threads = 1;   ///< including the calling thread
    bool pin = false;  ///< pin workers to physical cores (topology order; not the caller)
  };
  explicit ThreadPool(Options options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// May be fewer than asked for, where the system limits processes.
  int threads() const;

  /// Calls fn(task, worker) for every task in [0, tasks), worker in [0, threads()). Returns when
  /// all are done. Worker w starts with the w-th contiguous share of the tasks (so the same worker
  /// meets the same weights again: NUMA placement, caches) and then takes what others have not
  /// begun. Not reentrant; to be called from one thread at a time. An exception of a task reaches
  /// the caller when the job is over. A short spin, then sleep: a busy neighbour on the core costs
  /// its share, not a collapse.
  template <typename Fn>
  void parallel_for(int64_t tasks, Fn&& fn) {
    using F = std::remove_reference_t<Fn>;
    run(
        tasks,
        [](void* context, int64_t task, int worker) { (*static_cast<F*>(context))(task, worker); },
        const_cast<void*>(static_cast<const void*>(&fn)), /*steal=*/true);
  }
  /// The same without stealing: worker w runs exactly its own share (first touch of memory).
  template <typename Fn>
  void parallel_for_static(int64_t tasks, Fn&& fn) {
    using F = std::remove_reference_t<Fn>;
    run(
        tasks,
        [](void* context, int64_t task, int worker) { (*static_cast<F*>(context))(task, worker); },
        const_cast<void*>(static_cast<const void*>(&fn)), /*steal=*/false);
  }

 private:
  using TaskFn = void (*)(void* context, int64_t task, int worker);
  void run(int64_t tasks, TaskFn fn, void* context, bool steal);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine
