// Sharing the rows of a pass.
#include "serving/step_planner.h"

#include <algorithm>
#include <vector>

namespace trine::serving {

namespace {

constexpr double kSmoothing = 0.2;  ///< weight of the newest measurement

double smoothed(double old_value, double measured) {
  return old_value == 0 ? measured : old_value + kSmoothing * (measured - old_value);
}

}  // namespace

void plan_rows(std::span<Candidate> candidates, int64_t pass_rows, int64_t prompt_rows) {
  int64_t left = pass_rows;
  std::vector<Candidate*> prompts;  // oldest first
  for (Candidate& c : candidates) {
    c.rows = 0;
    if (c.pending > 1) {
      prompts.push_back(&c);
    } else if (c.pending == 1 && left > 0) {
      c.rows = 1;
      --left;
    }
  }
  left = std::min(left, prompt_rows);
  const auto give = [&](Candidate& c, int64_t most) {
    const int64_t rows = std::min({c.rows_max - c.rows, most, left});
    c.rows += rows;
    left -= rows;
  };
  if (prompts.empty()) return;
  give(*prompts.front(), prompts.size() == 1 ? left : (left + 1) / 2);
  std::vector<Candidate*> shortest(prompts.begin() + 1, prompts.end());
  std::stable_sort(shortest.begin(), shortest.end(),
                   [](const Candidate* a, const Candidate* b) { return a->pending < b->pending; });
  for (Candidate* c : shortest) give(*c, left);
  give(*prompts.front(), left);
}

int64_t Pace::prompt_rows(int64_t pass_rows, bool somebody_decodes) const {
  if (!somebody_decodes || prompt_row_ms_ <= 0) return pass_rows;
  const double rows = (target_ms_ - decode_ms_) / prompt_row_ms_;
  return std::clamp(static_cast<int64_t>(std::max(rows, 0.0)), std::min(kRowsMin, pass_rows),
                    pass_rows);
}

void Pace::measured(int64_t decode_rows, int64_t prompt_rows, double ms) {
  step_ms_ = smoothed(step_ms_, ms);
  if (prompt_rows == 0) {
    decode_ms_ = smoothed(decode_ms_, ms);
  } else {
    const double beside = decode_rows > 0 ? decode_ms_ : 0;
    prompt_row_ms_ =
        smoothed(prompt_row_ms_, std::max(ms - beside, 0.0) / static_cast<double>(prompt_rows));
  }
}

}  // namespace trine::serving
