#include "server/ids.h"

#include <random>

#include "base/splitmix.h"

namespace trine::server {
namespace {

uint64_t entropy() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

IdMaker::IdMaker() : key_{entropy(), entropy()} {}

uint64_t IdMaker::random() { return splitmix(key_[0] + count_.fetch_add(1) * kSplitMixStep); }

std::string IdMaker::next(const char* prefix) {
  static constexpr char kDigits[] =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr int kHalf = 12;  // 62^12 > 2^64: the whole number fits, so ids differ
  std::string out = prefix;
  const uint64_t first = random();
  for (uint64_t part : {first, splitmix(first ^ key_[1])}) {
    for (int i = 0; i < kHalf; ++i, part /= 62) out += kDigits[part % 62];
  }
  return out;
}

}  // namespace trine::server
