// An event loop in memory whose clock moves when a test says so.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "http/transport.h"

namespace trine::testing {

class MemoryLoop : public http::Loop {
 public:
  bool post(std::function<void()> task) override {
    tasks_.push_back(std::move(task));
    return true;
  }
  http::Time now() const override { return now_; }
  std::unique_ptr<http::Timer> make_timer(std::function<void()> on_due) override {
    return std::make_unique<MemoryTimer>(*this, std::move(on_due));
  }

  /// Runs what is posted, and what that posts.
  void run() {
    while (!tasks_.empty()) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }
  /// Lets time pass; timers fire in order, each at its own time.
  void pass(std::chrono::milliseconds time) {
    const http::Time end = now_ + time;
    run();
    while (!timers_.empty() && timers_.begin()->first <= end) {
      const auto [due, timer] = *timers_.begin();
      timers_.erase(timers_.begin());
      now_ = std::max(now_, due);
      const auto on_due = timer->on_due;
      on_due();
      run();
    }
    now_ = end;
  }

 private:
  struct MemoryTimer : http::Timer {
    MemoryTimer(MemoryLoop& l, std::function<void()> f) : loop(l), on_due(std::move(f)) {}
    ~MemoryTimer() override { clear(); }
    MemoryTimer(const MemoryTimer&) = delete;
    MemoryTimer& operator=(const MemoryTimer&) = delete;
    void set(http::Time due) override {
      clear();
      loop.timers_.emplace(due, this);
    }
    void clear() {
      std::erase_if(loop.timers_, [this](const auto& entry) { return entry.second == this; });
    }
    MemoryLoop& loop;
    const std::function<void()> on_due;
  };

  http::Time now_{};
  std::deque<std::function<void()>> tasks_;
  std::multimap<http::Time, MemoryTimer*> timers_;
};

}  // namespace trine::testing
