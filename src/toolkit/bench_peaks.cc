// Samples of the read bandwidth and of every unit's peak.
#include "toolkit/bench_peaks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "base/try.h"

namespace trine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLoopSeconds = 0.03;
constexpr int64_t kProbeRounds = 20000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string giga(double value, const char* unit) {
  const int64_t tenths = std::llround(value / 1e8);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + unit;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double spread(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double middle = median(values);
  return middle > 0 ? (*high - *low) / middle : 0;
}

Result<PeakMeter> PeakMeter::create(Isa isa, int threads, int64_t bytes) {
  PeakMeter meter;
  meter.isa_ = isa;
  meter.table_ = &kernels::peak_table(isa);
  meter.pool_ = std::make_unique<ThreadPool>(ThreadPool::Options{.threads = threads, .pin = true});
  const int64_t share = bytes / threads / 4096 * 4096;
  TRINE_ASSIGN_OR_RETURN(meter.buffer_, Buffer::allocate(share * threads));
  // First touch by the thread that will read: pages lie on its node.
  uint8_t* data = meter.buffer_.as<uint8_t>();
  meter.pool_->parallel_for_static(threads, [&](int64_t task, int) {
    std::fill_n(data + task * share, share, static_cast<uint8_t>(task + 1));
  });
  meter.units_ = {{"f32", &meter.table_->f32, {}},
                  {"bf16", &meter.table_->bf16, {}},
                  {"int8", &meter.table_->int8, {}},
                  {"amx_bf16", &meter.table_->amx_bf16, {}},
                  {"amx_int8", &meter.table_->amx_int8, {}}};
  return meter;
}

double PeakMeter::time_read() {
  const int64_t threads = pool_->threads();
  const int64_t share = buffer_.size() / threads / 4096 * 4096;
  const uint8_t* data = buffer_.as<uint8_t>();
  std::atomic<uint64_t> sink{0};
  const Clock::time_point start = Clock::now();
  pool_->parallel_for_static(threads, [&](int64_t task, int) {
    sink.fetch_xor(table_->read(data + task * share, share), std::memory_order_relaxed);
  });
  return static_cast<double>(share * threads) / seconds_since(start);
}

double PeakMeter::time_loop(const kernels::PeakLoop& loop) {
  Clock::time_point start = Clock::now();
  std::atomic<double> sink{loop.run(kProbeRounds)};
  const double probe = std::max(seconds_since(start), 1e-7);
  const auto rounds = static_cast<int64_t>(kLoopSeconds / probe * kProbeRounds) + 1;
  const int64_t threads = pool_->threads();
  start = Clock::now();
  pool_->parallel_for_static(threads, [&](int64_t, int) { sink.store(loop.run(rounds)); });
  return static_cast<double>(rounds * loop.operations * threads) / seconds_since(start);
}

void PeakMeter::sample() {
  if (!released()) reads_.push_back(time_read());
  for (Unit& unit : units_)
    if (unit.loop->run != nullptr) unit.samples.push_back(time_loop(*unit.loop));
}

Peaks PeakMeter::peaks() const {
  Peaks peaks;
  peaks.read_bytes_per_s = median(reads_);
  peaks.noise = spread(reads_);
  double* const targets[] = {&peaks.f32, &peaks.bf16, &peaks.int8, &peaks.amx_bf16,
                             &peaks.amx_int8};
  for (size_t i = 0; i < units_.size(); ++i) *targets[i] = median(units_[i].samples);
  return peaks;
}

json::Value PeakMeter::to_json() const {
  json::Value value = json::Value::object();
  value.set("threads", pool_->threads());
  value.set("read_bytes_per_s", median(reads_));
  value.set("read_instruction", table_->read_name);
  value.set("noise", spread(reads_));
  json::Value units = json::Value::object();
  json::Value missing = json::Value::array();
  for (const Unit& unit : units_) {
    if (unit.loop->run == nullptr) {
      missing.push(unit.key);
      continue;
    }
    json::Value entry = json::Value::object();
    entry.set("instruction", unit.loop->name);
    entry.set("operations_per_s", median(unit.samples));
    units.set(unit.key, std::move(entry));
  }
  value.set("units", std::move(units));
  value.set("missing_units", std::move(missing));
  return value;
}

std::string PeakMeter::to_text() const {
  std::string text = "read " + giga(median(reads_), "GB/s");
  std::string missing;
  for (const Unit& unit : units_) {
    if (unit.loop->run == nullptr)
      missing.append(missing.empty() ? "" : ", ").append(unit.key);
    else
      text += std::string(", ") + unit.key + " " + giga(median(unit.samples), "Gop/s");
  }
  text += " (" + std::to_string(pool_->threads()) + " threads, " + isa_name(isa_) + ")\n";
  if (!missing.empty()) text += "this processor (at this level) has no " + missing + "\n";
  return text;
}

}  // namespace trine
