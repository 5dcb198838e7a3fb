// What a server has done so far, for metrics and tests.
#pragma once

#include <array>
#include <cstdint>

#include "http/exchange.h"
#include "http/refusal.h"

namespace trine::http {

struct Stats {
  int64_t connections_open = 0;
  int64_t connections_total = 0;
  int64_t connections_dropped = 0;  ///< closed without an answer, when even refusing is too much
  int64_t requests_total = 0;       ///< complete ones, handed to the handler
  int64_t bytes_received = 0;
  int64_t bytes_sent = 0;
  int64_t body_bytes = 0;                        ///< held now, of bodies being received
  std::array<int64_t, kRefusalKinds> refused{};  ///< by Refusal
  std::array<int64_t, kCloseReasons> cut{};      ///< answers not finished, by CloseReason

  int64_t of(Refusal kind) const { return refused[static_cast<size_t>(kind)]; }
  int64_t of(CloseReason reason) const { return cut[static_cast<size_t>(reason)]; }
};

}  // namespace trine::http
