// What /metrics says: counters and histograms of requests, and the engine's own figures, as
// Prometheus text.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/stats.h"
#include "serving/service.h"

namespace trine::server {

/// Counts by upper bounds. Thread-safe.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void observe(double value);
  /// NAME_bucket, NAME_sum, NAME_count.
  void write(const std::string& name, const std::string& help, std::string* out) const;

 private:
  const std::vector<double> bounds_;
  mutable std::mutex mutex_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
};

class Metrics {
 public:
  Metrics();

  void count_answer(const std::string& route, int status);
  Histogram& ttft() { return ttft_; }
  Histogram& inter_token() { return inter_token_; }
  Histogram& end_to_end() { return end_to_end_; }
  Histogram& queue() { return queue_; }

  std::string text(const serving::Gauges& gauges, const serving::Counters& counters,
                   const http::Stats& http) const;

 private:
  Histogram ttft_, inter_token_, end_to_end_, queue_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answers_;
};

}  // namespace trine::server
