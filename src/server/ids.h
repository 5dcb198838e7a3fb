// Ids that nobody gives twice: random at start, counted from there, spread over all bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace trine::server {

class IdMaker {
 public:
  IdMaker();
  /// The prefix and 24 letters and digits.
  std::string next(const char* prefix);
  uint64_t random();

 private:
  const uint64_t key_[2];
  std::atomic<uint64_t> count_{0};
};

}  // namespace trine::server
