// How many rows of whom go into the next pass: pure arithmetic.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

namespace trine::serving {

/// One sequence that could run.
struct Candidate {
  int64_t pending = 0;   ///< tokens to run: 1 = it decodes
  int64_t rows_max = 0;  ///< a pass must stop there (a snapshot is due), at most pending
  int64_t rows = 0;      ///< out
};

/// `candidates` oldest first. Every decoding one gets its row; of the rows for prompts half go to
/// the oldest prompt and half to the shortest first; what one cannot use the others get. At most
/// `pass_rows` in all, of which `prompt_rows` for prompts.
void plan_rows(std::span<Candidate> candidates, int64_t pass_rows, int64_t prompt_rows);

/// Rows of prompts per pass such that a pass takes about `target_ms` while somebody decodes, from
/// measured passes.
class Pace {
 public:
  static constexpr int64_t kRowsMin = 16;  ///< prompts always move

  explicit Pace(double target_ms) : target_ms_(target_ms) {}
  int64_t prompt_rows(int64_t pass_rows, bool somebody_decodes) const;
  void measured(int64_t decode_rows, int64_t prompt_rows, double ms);
  double step_ms() const { return step_ms_; }

 private:
  double target_ms_;
  double decode_ms_ = 0;      ///< a pass without prompts
  double prompt_row_ms_ = 0;  ///< what a row of a prompt adds
  double step_ms_ = 0;
};

}  // namespace trine::serving
