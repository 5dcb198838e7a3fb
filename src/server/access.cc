#include "server/access.h"

namespace trine::server {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The key a client presents, by either header.
std::string_view presented_key(const http::Headers& headers) {
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view authorization = without_blanks(headers.get("Authorization"));
  if (authorization.size() > kBearer.size() &&
      http::same_name(authorization.substr(0, kBearer.size()), kBearer))
    return without_blanks(authorization.substr(kBearer.size()));
  return without_blanks(headers.get("x-api-key"));
}

}  // namespace

bool equal_in_constant_time(std::string_view given, std::string_view secret) {
  // Reads the secret round and round, so that neither its length nor its bytes decide the time.
  volatile unsigned difference = given.size() == secret.size() ? 0u : 1u;
  for (size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    difference = difference | static_cast<unsigned>(static_cast<unsigned char>(given[i] ^ other));
  }
  return difference == 0;
}

Result<std::vector<std::string>> parse_keys(std::string_view text, const std::string& where) {
  std::vector<std::string> out;
  int64_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    const std::string_view key = without_blanks(line);
    if (key.empty() || key.front() == '#') continue;
    for (const char c : key) {
      if (c > ' ' && c < '\x7f') continue;
      return Status(Code::kInvalidArgument, where + ": line " + std::to_string(number) +
                                                ": a key has printable ASCII characters only");
    }
    out.emplace_back(key);
  }
  if (out.empty()) return Status(Code::kInvalidArgument, where + ": has no key");
  return out;
}

Access::Access(std::vector<std::string> keys, int64_t running_per_client_max)
    : keys_(std::move(keys)), running_max_(running_per_client_max) {}

bool Access::admit(const http::Headers& headers, std::string* client) const {
  client->clear();
  if (keys_.empty()) return true;
  const std::string_view given = presented_key(headers);
  size_t found = 0;  // 1-based; all keys are looked at
  for (size_t i = 0; i < keys_.size(); ++i)
    if (equal_in_constant_time(given, keys_[i])) found = i + 1;
  if (found == 0) return false;
  *client = "key-" + std::to_string(found);
  return true;
}

std::unique_ptr<Access::Running> Access::begin(const std::string& client) {
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t& running = running_[client];
  if (running_max_ > 0 && running >= running_max_) return nullptr;
  ++running;
  return std::make_unique<Running>(this, client);
}

Access::Running::~Running() {
  const std::lock_guard<std::mutex> lock(access_->mutex_);
  if (--access_->running_[client_] == 0) access_->running_.erase(client_);
}

}  // namespace trine::server
