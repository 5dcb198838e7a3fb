#include "server/worker_pool.h"

#include <algorithm>
#include <utility>

namespace trine::server {

WorkerPool::WorkerPool(int threads, size_t queue_max) : queue_max_(queue_max) {
  for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { run(); });
}

WorkerPool::~WorkerPool() { stop(); }

bool WorkerPool::post(std::function<void()> task) { return push(std::move(task), queue_max_); }

bool WorkerPool::post_always(std::function<void()> task) { return push(std::move(task), SIZE_MAX); }

bool WorkerPool::push(std::function<void()> task, size_t limit) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopped_ || tasks_.size() >= limit) return false;
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::stop() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerPool::run() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
      if (stopped_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace trine::server
