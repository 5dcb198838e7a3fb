// Choosing the next token; see the header.
//
// Tokens stand on a line, best first (ties: lower id), each as long as its weight. top-k, top-p and
// min-p each cut the line somewhere, and the draw is a point of what is left. To find a point, only
// the tokens of one bucket of logits are sorted.
#include "serving/sampling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/splitmix.h"
#include "base/try.h"

namespace trine::serving {
namespace {

// Weight of the best token. With at most 2^20 tokens all sums stay below 2^64.
constexpr uint64_t kOne = uint64_t{1} << 44;
constexpr size_t kVocabularyMax = size_t{1} << 20;
// Beyond this distance from the best, in units of the temperature, weights are 0.
constexpr double kFar = 44 * std::numbers::ln2;
constexpr size_t kBuckets = 2048;
constexpr double kBucketsPerUnit = static_cast<double>(kBuckets) / kFar;

// floor(bits / 2^64 * total): a point of [0, total).
uint64_t scaled(uint64_t bits, uint64_t total) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(bits) * total) >> 64);
}

template <typename Visit>
void for_each_allowed(size_t size, std::span<const uint64_t> mask, const Visit& visit) {
  if (mask.empty()) {
    for (size_t id = 0; id < size; ++id) visit(id);
    return;
  }
  for (size_t first = 0; first < size; first += 64)
    for (uint64_t word = mask[first / 64]; word != 0; word &= word - 1) {
      const size_t id = first + static_cast<size_t>(std::countr_zero(word));
      if (id < size) visit(id);
    }
}

class Line {
 public:
  struct Place {
    int32_t id = -1;
    uint64_t end = 0;  ///< where this token's part of the line ends
  };

  Line(std::span<const float> logits, std::span<const uint64_t> mask, float best, float temperature)
      : logits_(logits),
        mask_(mask),
        best_(static_cast<double>(best)),
        scale_(1.0 / static_cast<double>(temperature)) {
    for_each_allowed(logits.size(), mask, [&](size_t id) {
      const double x = distance(id);
      if (!near(x)) return;
      weights_[bucket_of(x)] += weight_at(x);
      ++counts_[bucket_of(x)];
    });
    for (const uint64_t w : weights_) total_ += w;
  }

  uint64_t total() const { return total_; }

  /// The token that a point of [0, total) belongs to.
  Place at(uint64_t point) const {
    size_t bucket = 0;
    uint64_t begin = 0;
    while (point - begin >= weights_[bucket]) begin += weights_[bucket++];
    Place place{-1, begin};
    for (const Item& item : sorted(bucket)) {
      place = {item.id, place.end + weight_at(item.distance)};
      if (point < place.end) break;
    }
    return place;
  }

  /// Length of the first `count` tokens.
  uint64_t length_of(int64_t count) const {
    size_t bucket = 0;
    uint64_t length = 0;
    for (; bucket < kBuckets && count >= counts_[bucket]; ++bucket) {
      count -= counts_[bucket];
      length += weights_[bucket];
    }
    if (bucket == kBuckets || count == 0) return length;
    for (const Item& item : sorted(bucket)) {
      if (count-- == 0) break;
      length += weight_at(item.distance);
    }
    return length;
  }

  /// Length of the tokens at most that far from the best.
  uint64_t length_within(double limit) const {
    if (!(limit < kFar)) return total_;
    const size_t last = bucket_of(limit);
    uint64_t length = 0;
    for (size_t bucket = 0; bucket < last; ++bucket) length += weights_[bucket];
    for (const Item& item : sorted(last))
      if (item.distance <= limit) length += weight_at(item.distance);
    return length;
  }

 private:
  struct Item {
    double distance;
    float logit;
    int32_t id;
  };

  double distance(size_t id) const { return (best_ - static_cast<double>(logits_[id])) * scale_; }
  // False for what is not finite.
  static bool near(double x) { return x >= 0 && x < kFar; }
  // The product may round up to kBuckets just below kFar.
  static size_t bucket_of(double x) {
    return std::min(static_cast<size_t>(x * kBucketsPerUnit), kBuckets - 1);
  }
  static uint64_t weight_at(double x) {
    return static_cast<uint64_t>(std::exp(-x) * static_cast<double>(kOne));
  }

  std::vector<Item> sorted(size_t bucket) const {
    std::vector<Item> items;
    items.reserve(static_cast<size_t>(counts_[bucket]));
    for_each_allowed(logits_.size(), mask_, [&](size_t id) {
      const double x = distance(id);
      if (near(x) && bucket_of(x) == bucket)
        items.push_back({x, logits_[id], static_cast<int32_t>(id)});
    });
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    });
    return items;
  }

  std::span<const float> logits_;
  std::span<const uint64_t> mask_;
  double best_;
  double scale_;
  uint64_t total_ = 0;
  std::array<uint64_t, kBuckets> weights_{};
  std::array<int32_t, kBuckets> counts_{};
};

// Sums of finite numbers stay finite; NaN stays NaN.
float clamped(double x) {
  constexpr auto kMax = static_cast<double>(std::numeric_limits<float>::max());
  return static_cast<float>(std::clamp(x, -kMax, kMax));
}

}  // namespace

uint64_t random_bits(uint64_t seed, uint64_t n) {
  return splitmix(splitmix(seed + kSplitMixStep) + (n + 1) * kSplitMixStep);
}

TokenChooser::TokenChooser(SamplingParams params, std::span<const int32_t> prompt)
    : params_(std::move(params)) {
  if (!repetition_matters()) return;
  for (const int32_t id : prompt) times_.emplace(id, 0);
}

void TokenChooser::accept(int32_t id) {
  ++generated_;
  if (repetition_matters() || counts_matter()) ++times_[id];
}

void TokenChooser::adjust(std::span<float> logits, std::span<const int32_t> forbidden,
                          std::vector<Saved>* saved) const {
  const auto save = [&](int32_t id) -> float* {
    const auto i = static_cast<size_t>(id);
    if (id < 0 || i >= logits.size()) return nullptr;
    saved->push_back({i, logits[i]});
    return &logits[i];
  };
  for (const auto& [id, times] : times_) {
    float* logit = save(id);
    if (logit == nullptr || std::isinf(*logit)) continue;
    auto x = static_cast<double>(*logit);
    const auto repetition = static_cast<double>(params_.repetition_penalty);
    x = x > 0 ? x / repetition : x * repetition;
    if (times > 0)
      x -= static_cast<double>(params_.presence_penalty) +
           static_cast<double>(times) * static_cast<double>(params_.frequency_penalty);
    *logit = clamped(x);
  }
  for (const auto& [id, bias] : params_.logit_bias) {
    float* logit = save(id);
    if (logit != nullptr && !std::isinf(*logit))
      *logit = clamped(static_cast<double>(*logit) + static_cast<double>(bias));
  }
  for (const int32_t id : forbidden)
    if (float* logit = save(id)) *logit = -std::numeric_limits<float>::infinity();
}

int32_t TokenChooser::choose(std::span<float> logits, std::span<const uint64_t> mask,
                             std::span<const int32_t> forbidden) const {
  TRINE_CHECK(logits.size() <= kVocabularyMax);
  TRINE_CHECK(mask.empty() || mask.size() * 64 >= logits.size());
  std::vector<Saved> saved;
  adjust(logits, forbidden, &saved);

  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float best = -kInfinity;
  int32_t chosen = -1;
  for_each_allowed(logits.size(), mask, [&](size_t id) {
    if (logits[id] > best && logits[id] < kInfinity) {
      best = logits[id];
      chosen = static_cast<int32_t>(id);
    }
  });
  if (chosen >= 0 && params_.temperature > 0.0f) chosen = draw(logits, mask, best);

  // Backwards: an id may have been changed more than once.
  for (auto it = saved.rbegin(); it != saved.rend(); ++it) logits[it->id] = it->logit;
  return chosen;
}

int32_t TokenChooser::draw(std::span<const float> logits, std::span<const uint64_t> mask,
                           float best) const {
  const Line line(logits, mask, best, params_.temperature);
  uint64_t length = line.total();
  if (params_.top_k > 0) length = line.length_of(params_.top_k);
  if (params_.top_p < 1.0f) {
    const double goal = std::ceil(static_cast<double>(params_.top_p) * static_cast<double>(length));
    const auto needed = std::clamp(static_cast<uint64_t>(std::max(goal, 1.0)), uint64_t{1}, length);
    length = line.at(needed - 1).end;
  }
  if (params_.min_p > 0.0f)
    length = std::min(length, line.length_within(-std::log(static_cast<double>(params_.min_p))));
  return line.at(scaled(random_bits(params_.seed, generated_), length)).id;
}

}  // namespace trine::serving
