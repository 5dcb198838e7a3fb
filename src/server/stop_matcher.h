// Stop strings in a stream of text. The answer ends where the first of them is complete (of several
// that end there, the longest is meant), so that the result does not depend on how the text is cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trine::server {

class StopMatcher {
 public:
  /// No stop string may be empty. `include`: a matched one stays in the text.
  StopMatcher(std::vector<std::string> stops, bool include);

  /// Takes the next piece and appends to `out` what is certain: what may be the beginning of a stop
  /// string waits. Nothing is taken once stopped.
  void push(std::string_view piece, std::string* out);
  /// Appends what waits. Text may still follow and complete a stop string that has begun; of that
  /// one, only what comes from now on can be left out.
  void flush(std::string* out);

  bool stopped() const { return !stop_.empty(); }
  const std::string& stop() const { return stop_; }  ///< the matched one

 private:
  // Knuth-Morris-Pratt: `matched` bytes of `text` are the end of what came so far.
  struct Stop {
    std::string text;
    std::vector<size_t> fallback;
    size_t matched = 0;

    explicit Stop(std::string stop);
    bool take(char c);
  };

  std::vector<Stop> stops_;
  bool include_;
  std::string held_;
  std::string stop_;
};

}  // namespace trine::server
