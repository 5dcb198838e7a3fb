// A busy neighbour: one thread per core of this process that computes without pause.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace trine {

class BusyNeighbour {
 public:
  /// Starts one thread pinned to each core of discover_topology().
  BusyNeighbour();
  ~BusyNeighbour();
  BusyNeighbour(const BusyNeighbour&) = delete;
  BusyNeighbour& operator=(const BusyNeighbour&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace trine
