// Counter stream and normal quantiles. Only + - * / on doubles: IEEE 754 gives them one result
// everywhere, which exp() and log() of a C library do not promise.
#include "toolkit/synth_random.h"

namespace trine {
namespace {

/// exp(-t) for t >= 0: Taylor series of t/64, squared six times.
double exp_negative(double t) {
  const double x = -t / 64;
  double term = 1;
  double sum = 1;
  for (int i = 1; i < 24; ++i) {
    term = term * x / i;
    sum += term;
  }
  for (int i = 0; i < 6; ++i) sum *= sum;
  return sum;
}

double density(double x) {
  constexpr double kInverseSqrt2Pi = 0.3989422804014327;
  return kInverseSqrt2Pi * exp_negative(x * x / 2);
}

/// Phi(x) - 1/2 for x >= 0: density(x) * (x + x^3/3 + x^5/15 + ...).
double half_cumulative(double x) {
  double term = x;
  double sum = x;
  for (int i = 1; i < 120; ++i) {
    term = term * x * x / (2 * i + 1);
    sum += term;
  }
  return density(x) * sum;
}

std::array<double, kNormalLevels> compute_quantiles() {
  std::array<double, kNormalLevels> table{};
  double x = 0;
  for (int64_t i = kNormalLevels / 2; i < kNormalLevels; ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(kNormalLevels) - 0.5;
    for (int step = 0; step < 12; ++step) x -= (half_cumulative(x) - p) / density(x);
    table[static_cast<size_t>(i)] = x;
    table[static_cast<size_t>(kNormalLevels - 1 - i)] = -x;
  }
  return table;
}

}  // namespace

CounterStream::CounterStream(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a of the name, then mixed with the seed
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  key_ = splitmix(splitmix(hash) ^ splitmix(seed + kSplitMixStep));
}

const std::array<double, kNormalLevels>& normal_quantiles() {
  static const std::array<double, kNormalLevels> table = compute_quantiles();
  return table;
}

}  // namespace trine
