// Stop strings; see the header.
#include "server/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace trine::server {

StopMatcher::Stop::Stop(std::string stop) : text(std::move(stop)), fallback(text.size() + 1) {
  TRINE_CHECK(!text.empty());
  // fallback[n]: the longest proper prefix that the first n bytes end with.
  for (size_t n = 1, length = 0; n < text.size(); ++n) {
    while (length > 0 && text[n] != text[length]) length = fallback[length];
    if (text[n] == text[length]) ++length;
    fallback[n + 1] = length;
  }
}

bool StopMatcher::Stop::take(char c) {
  while (matched > 0 && c != text[matched]) matched = fallback[matched];
  if (c == text[matched]) ++matched;
  return matched == text.size();
}

StopMatcher::StopMatcher(std::vector<std::string> stops, bool include) : include_(include) {
  stops_.reserve(stops.size());
  for (std::string& stop : stops) stops_.emplace_back(std::move(stop));
}

void StopMatcher::push(std::string_view piece, std::string* out) {
  if (stopped()) return;
  for (const char c : piece) {
    held_ += c;
    for (Stop& stop : stops_)
      if (stop.take(c) && stop.text.size() > stop_.size()) stop_ = stop.text;
    if (!stopped()) continue;
    if (!include_) held_.resize(held_.size() - std::min(held_.size(), stop_.size()));
    return flush(out);
  }
  size_t waits = 0;
  for (const Stop& stop : stops_) waits = std::max(waits, stop.matched);
  const size_t certain = held_.size() - std::min(held_.size(), waits);
  out->append(held_, 0, certain);
  held_.erase(0, certain);
}

void StopMatcher::flush(std::string* out) { *out += std::exchange(held_, ""); }

}  // namespace trine::server
