// Errors as values: every fallible call of the library returns a Status or a Result<T>.
//
// A message says where it happened, what was found, what was expected and what to do next. The
// library never prints, never exits and lets no exception cross its border.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace trine {

/// What kind of failure it was. kCorrupt blames the file, kInvalidArgument the caller's request.
enum class Code {
  kOk,
  kInvalidArgument,  ///< the request itself is wrong (usage)
  kNotFound,         ///< a file or name that should exist does not
  kCorrupt,          ///< the data contradicts itself or its format
  kUnsupported,      ///< well formed, but nothing here can run it
  kOutOfMemory,      ///< does not fit in the memory available
  kIo,               ///< the operating system refused a read or write
  kCancelled,        ///< the caller asked to stop
  kBusy,             ///< a bounded queue or pool is full
  kNotFinite,        ///< a computation produced NaN or infinity
  kInternal,         ///< a fault of trine itself
};

/// Short lower-case name of a code ("corrupt").
const char* code_name(Code code);

/// Success, or a code with a message.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  /// "corrupt: FILE: ..."
  std::string to_string() const;
  /// The same failure with "context: " put before its message. Success stays success.
  Status with_context(const std::string& context) const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value, or the Status that explains why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that a function can return either as it is.
  // NOLINTBEGIN(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}
  // NOLINTEND(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The failure; success when ok().
  Status status() const { return ok() ? Status() : std::get<1>(state_); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace trine
