// What the machine reaches in this run: read bandwidth and the peaks of its units, all threads
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "kernels/peak_table.h"
#include "platform/cpu.h"
#include "platform/memory.h"
#include "platform/thread_pool.h"
#include "trine/status.h"

namespace trine {

double median(std::vector<double> values);
/// (largest - smallest) / median; 0 for fewer than two values.
double spread(const std::vector<double>& values);

/// Figures of one run; 0 where this processor (or the level in use) has no such unit.
struct Peaks {
  double read_bytes_per_s = 0;
  double f32 = 0;  ///< operations per second, as all that follow
  double bf16 = 0;
  double int8 = 0;
  double amx_bf16 = 0;
  double amx_int8 = 0;
  double noise = 0;  ///< spread of the read samples

  /// The 16-bit matrix unit that the engine uses: tiles where there are some.
  double matrix_bf16() const { return amx_bf16 > 0 ? amx_bf16 : bf16; }
};

/// Takes samples whenever asked, so that they lie between the measurements they are compared with.
class PeakMeter {
 public:
  /// `bytes`: of the buffer that is read; far larger than the caches.
  static Result<PeakMeter> create(Isa isa, int threads, int64_t bytes);

  void sample();
  /// Medians of the samples so far.
  Peaks peaks() const;
  /// Frees the buffer (its pages would count as the engine's).
  void release() { buffer_ = Buffer(); }
  bool released() const { return buffer_.size() == 0; }

  /// Unit, instruction and figure of each; "missing" says which this processor lacks.
  json::Value to_json() const;
  std::string to_text() const;

 private:
  struct Unit {
    const char* key;
    const kernels::PeakLoop* loop;
    std::vector<double> samples;
  };
  double time_read();
  double time_loop(const kernels::PeakLoop& loop);

  Isa isa_ = Isa::kScalar;
  const kernels::PeakTable* table_ = nullptr;
  std::unique_ptr<ThreadPool> pool_;
  Buffer buffer_;
  std::vector<double> reads_;
  std::vector<Unit> units_;
};

}  // namespace trine
