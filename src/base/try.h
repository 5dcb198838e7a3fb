// Early return for Status and Result<T>, and CHECK for our own bugs.
#pragma once

#include "trine/status.h"

#define TRINE_CONCAT_INNER(a, b) a##b
#define TRINE_CONCAT(a, b) TRINE_CONCAT_INNER(a, b)

#define TRINE_RETURN_IF_ERROR(expr)                                                  \
  do {                                                                               \
    if (::trine::Status try_status_ = (expr); !try_status_.ok()) return try_status_; \
  } while (0)

// TRINE_ASSIGN_OR_RETURN(auto x, make_x());
// NOLINTBEGIN(bugprone-macro-parentheses): the left side may be a declaration.
#define TRINE_ASSIGN_OR_RETURN(lhs, expr) \
  TRINE_ASSIGN_OR_RETURN_INNER(TRINE_CONCAT(try_result_, __LINE__), lhs, expr)
#define TRINE_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                 \
  if (!tmp.ok()) return tmp.status();                \
  lhs = std::move(tmp).value()
// NOLINTEND(bugprone-macro-parentheses)

namespace trine {
/// Ends the process: only for contradictions in trine's own state, never for bad input.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace trine

#define TRINE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::trine::check_failed(#condition, __FILE__, __LINE__))
