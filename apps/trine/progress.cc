// Progress bars.
#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "common.h"

namespace trine::cli {
namespace {

constexpr double kBarDelaySeconds = 0.3;   // what is quicker needs no bar
constexpr double kLineDelaySeconds = 5.0;  // and no lines in a log
constexpr int64_t kBarCells = 24;

}  // namespace

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

Progress::Progress(std::string label, Unit unit, bool quiet)
    : label_(std::move(label)), unit_(unit), quiet_(quiet), terminal_(stderr_is_terminal()) {}

Progress::~Progress() { clear(); }

void Progress::update(int64_t done, int64_t total) {
  if (quiet_ || total <= 0) return;
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double fraction = static_cast<double>(done) / static_cast<double>(total);
  const bool bytes = unit_ == Unit::kBytes;
  const std::string amount =
      bytes ? bytes_text(done) + " of " + bytes_text(total)
            : std::to_string(done) + " of " + std::to_string(total) + " tokens";
  if (terminal_) {
    const bool due = now - last_draw_ > std::chrono::milliseconds(100);
    if (seconds < kBarDelaySeconds || !due) return;
    last_draw_ = now;
    draw_bar(fraction, amount, seconds);
    return;
  }
  const auto tenths = static_cast<int64_t>(fraction * 10.0);
  if (seconds < kLineDelaySeconds || tenths <= tenths_shown_) return;
  tenths_shown_ = tenths;
  std::cerr << label_ << ": " << tenths * 10 << " % (" << amount << ")\n";
}

void Progress::draw_bar(double fraction, const std::string& amount, double seconds) {
  const int64_t full = std::clamp<int64_t>(
      static_cast<int64_t>(fraction * static_cast<double>(kBarCells)), 0, kBarCells);
  std::string bar(static_cast<size_t>(full), '#');
  bar.append(static_cast<size_t>(kBarCells - full), '.');
  std::string line = "\r\033[K" + label_ + " [" + bar + "] " + amount;
  if (fraction > 0.02) {
    const double left = seconds * (1.0 - fraction) / fraction;
    line += ", " + std::to_string(std::llround(left)) + " s left";
  }
  std::cerr << line << std::flush;
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) std::cerr << "\r\033[K" << std::flush;
  drawn_ = false;
}

}  // namespace trine::cli
