// A few threads that parse, render and compile, so that neither sockets nor steps wait for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trine::server {

class WorkerPool {
 public:
  WorkerPool(int threads, size_t queue_max);
  ~WorkerPool();  ///< stop()
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False when the queue is full or the pool was stopped; then the task is dropped.
  bool post(std::function<void()> task);
  /// Work that belongs to a request that was taken in already: the limit does not count.
  bool post_always(std::function<void()> task);
  /// Ends the running tasks and drops the others.
  void stop();

 private:
  bool push(std::function<void()> task, size_t limit);
  void run();

  const size_t queue_max_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace trine::server
