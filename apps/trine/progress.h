// Progress on stderr: a bar on a terminal, a few plain lines elsewhere, nothing for what is quick.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace trine::cli {

enum class Unit { kBytes, kTokens };

class Progress {
 public:
  Progress(std::string label, Unit unit, bool quiet);
  /// Clears the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done, int64_t total);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void draw_bar(double fraction, const std::string& amount, double seconds);

  std::string label_;
  Unit unit_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  int64_t tenths_shown_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_draw_ = start_;
};

bool stderr_is_terminal();

}  // namespace trine::cli
