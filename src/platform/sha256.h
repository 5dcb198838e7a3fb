// SHA-256 of pieces of bytes, by libcrypto.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace trine {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* data, int64_t bytes);
  void update(std::string_view text) { update(text.data(), static_cast<int64_t>(text.size())); }
  /// 64 lower-case hex digits; once, last. Empty when libcrypto failed (it has no SHA-256).
  std::string hex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine
