// The generation loop and stop strings (trine/generate.h).
#include "trine/generate.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/try.h"

namespace trine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Length of the longest suffix of `text` that is a proper prefix of `stop`.
size_t partial_match(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.substr(text.size() - n) == stop.substr(0, n)) return n;
  }
  return 0;
}

}  // namespace

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kByCaller: return "cancelled";
  }
  return "unknown";
}

double Generation::prefill_rate() const {
  return prefill_seconds > 0 ? static_cast<double>(prompt_tokens) / prefill_seconds : 0.0;
}

double Generation::decode_rate() const {
  const auto steps = static_cast<double>(ids.size()) - 1.0;
  return decode_seconds > 0 && steps > 0 ? steps / decode_seconds : 0.0;
}

Result<Generation> generate(const Model& model, Sequence* sequence, Sampler* sampler,
                            std::span<const int32_t> prompt, const GenerateOptions& options) {
  const Clock::time_point start = Clock::now();
  Generation out;
  const auto total = static_cast<int64_t>(prompt.size());
  Sequence::PrefillOptions prefill;
  if (options.on_prefill) {
    prefill.progress = [&](int64_t done) { return options.on_prefill(done, total); };
  }
  Result<std::vector<float>> logits = sequence->prefill(prompt, prefill);
  out.prefill_seconds = seconds_since(start);
  if (!logits.ok()) {
    if (logits.status().code() != Code::kCancelled) return logits.status();
    out.finish = FinishReason::kByCaller;
    return out;
  }
  out.prompt_tokens = total;

  // One id more than the room left: the last one is returned without being appended.
  const int64_t room = model.context() - sequence->position() + 1;
  const int64_t limit = options.max_tokens > 0 ? std::min(options.max_tokens, room) : room;
  Clock::time_point first = Clock::now();
  while (true) {
    const int32_t id = sampler->sample(*logits);
    out.ids.push_back(id);
    if (out.ids.size() == 1) {
      out.first_token_seconds = seconds_since(start);
      first = Clock::now();
    } else {
      out.decode_seconds = seconds_since(first);
    }
    const bool wanted = !options.on_token || options.on_token(id);
    if (std::find(options.stop_ids.begin(), options.stop_ids.end(), id) != options.stop_ids.end()) {
      out.finish = FinishReason::kStop;
      return out;
    }
    if (!wanted) {
      out.finish = FinishReason::kByCaller;
      return out;
    }
    if (static_cast<int64_t>(out.ids.size()) >= limit) {
      out.finish = FinishReason::kLength;
      return out;
    }
    TRINE_RETURN_IF_ERROR(sequence->decode(id, &logits.value()));
  }
}

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopMatcher::push(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, held_.find(stop));
  if (end != std::string::npos) {
    stopped_ = true;
    held_.resize(end);
    return std::exchange(held_, {});
  }
  size_t keep = 0;
  for (const std::string& stop : stops_) keep = std::max(keep, partial_match(held_, stop));
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace trine
