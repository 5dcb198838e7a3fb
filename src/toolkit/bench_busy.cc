// Spinning threads: they take their fair share of every core, as another process would.
#include "toolkit/bench_busy.h"

#include <pthread.h>
#include <sched.h>

#include <cstdint>

#include "platform/topology.h"

namespace trine {
namespace {

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  // Failure leaves the thread to the scheduler, which is as busy.
  (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

}  // namespace

BusyNeighbour::BusyNeighbour() {
  for (const Core& core : discover_topology().cores)
    threads_.emplace_back([this, cpu = core.cpu] {
      pin_to(cpu);
      volatile uint64_t word = 1;
      while (!stop_.load(std::memory_order_relaxed))
        for (int i = 0; i < 4096; ++i) word = word * 6364136223846793005u + 1;
    });
}

BusyNeighbour::~BusyNeighbour() {
  stop_.store(true);
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace trine
