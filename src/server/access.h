// Who may use the server: keys, compared in constant time, and how many requests each may run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "trine/status.h"

namespace trine::server {

/// Whether the texts are equal, in a time that depends on the length of `given` only.
bool equal_in_constant_time(std::string_view given, std::string_view secret);

/// Keys of a file: one a line, blank lines and lines that begin with # aside. Errors name the line,
/// never the key.
Result<std::vector<std::string>> parse_keys(std::string_view text, const std::string& where);

class Access {
 public:
  /// Without keys everybody may come in, whatever the Authorization header says.
  Access(std::vector<std::string> keys, int64_t running_per_client_max);

  /// "key-1" for the first key, "" without keys; false when no key fits. Both Authorization: Bearer
  /// and x-api-key are looked at.
  bool admit(const http::Headers& headers, std::string* client) const;

  /// Counts a running request of a client while it lives.
  class Running {
   public:
    Running(Access* access, std::string client) : access_(access), client_(std::move(client)) {}
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Access* access_;
    std::string client_;
  };
  /// Null when the client has as many as it may.
  std::unique_ptr<Running> begin(const std::string& client);
  int64_t running_per_client_max() const { return running_max_; }

 private:
  const std::vector<std::string> keys_;
  const int64_t running_max_;  // 0: as many as there are
  std::mutex mutex_;
  std::map<std::string, int64_t, std::less<>> running_;
};

}  // namespace trine::server
