#include "server/ids.h"

#include <random>

namespace trine::server {
namespace {

// A bijection of 64 bits (SplitMix64's finaliser).
uint64_t mixed(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

uint64_t entropy() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

IdMaker::IdMaker() : key_{entropy(), entropy()} {}

uint64_t IdMaker::random() { return mixed(key_[0] + count_.fetch_add(1) * 0x9E3779B97F4A7C15u); }

std::string IdMaker::next(const char* prefix) {
  static constexpr char kDigits[] =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr int kHalf = 12;  // 62^12 > 2^64: the whole number fits, so ids differ
  std::string out = prefix;
  const uint64_t first = random();
  for (uint64_t part : {first, mixed(first ^ key_[1])}) {
    for (int i = 0; i < kHalf; ++i, part /= 62) out += kDigits[part % 62];
  }
  return out;
}

}  // namespace trine::server
