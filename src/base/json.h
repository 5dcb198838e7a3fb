// JSON values: order-preserving objects, numbers that remember their spelling.
//
// Parsing is done by nlohmann::json's SAX parser (json.cc is its only includer), with limits on
// depth and size and refusal of duplicate keys. Numbers keep their source text, so that an integer
// of any length survives and 1.0 stays 1.0 (spec section 10 needs Python's formatting).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trine/status.h"

namespace trine::json {

enum class Type { kNull, kBool, kInt, kFloat, kString, kArray, kObject };

class Value {
 public:
  using Array = std::vector<Value>;
  using Member = std::pair<std::string, Value>;
  using Object = std::vector<Member>;  ///< in source order; keys are unique

  Value() = default;  // null
  // Implicit, so that values can be written as they read: set("name", 1).
  // NOLINTBEGIN(google-explicit-constructor)
  Value(std::nullptr_t) {}
  Value(bool v) : type_(Type::kBool), bool_(v) {}
  Value(int v) : Value(static_cast<int64_t>(v)) {}
  Value(int64_t v);
  Value(uint64_t v);
  Value(double v);
  Value(const char* v) : type_(Type::kString), text_(v) {}
  Value(std::string_view v) : type_(Type::kString), text_(v) {}
  Value(std::string v) : type_(Type::kString), text_(std::move(v)) {}
  Value(Array v) : type_(Type::kArray), array_(std::move(v)) {}
  Value(Object v) : type_(Type::kObject), object_(std::move(v)) {}
  // NOLINTEND(google-explicit-constructor)
  static Value array() { return Value(Array()); }
  static Value object() { return Value(Object()); }
  /// A number with the spelling it had in its source.
  static Value number(std::string text, bool is_float);

  Type type() const { return type_; }
  bool is_null() const { return type_ == Type::kNull; }
  bool is_bool() const { return type_ == Type::kBool; }
  bool is_int() const { return type_ == Type::kInt; }
  bool is_number() const { return type_ == Type::kInt || type_ == Type::kFloat; }
  bool is_string() const { return type_ == Type::kString; }
  bool is_array() const { return type_ == Type::kArray; }
  bool is_object() const { return type_ == Type::kObject; }

  bool as_bool() const { return bool_; }
  double as_double() const { return double_; }
  /// The integer; false if it is none or does not fit 64 bits. Floats with an integral value fit.
  bool to_int64(int64_t* out) const;
  const std::string& as_string() const { return text_; }
  const std::string& number_text() const { return text_; }
  const Array& as_array() const { return array_; }
  Array& as_array() { return array_; }
  const Object& as_object() const { return object_; }
  Object& as_object() { return object_; }

  /// The member's value, or nullptr (also when this is no object).
  const Value* find(std::string_view key) const;
  /// Sets or replaces a member of an object; a null value becomes an object first.
  Value& set(std::string key, Value value);
  /// Appends to an array; a null value becomes an array first.
  Value& push(Value value);

 private:
  Type type_ = Type::kNull;
  bool bool_ = false;
  bool fits_int64_ = false;
  int64_t int_ = 0;
  double double_ = 0;
  std::string text_;
  Array array_;
  Object object_;
};

struct ParseLimits {
  int depth_max = 64;
  int64_t bytes_max = int64_t{1} << 30;
  bool allow_duplicate_keys = false;
};

/// Parses exactly one JSON value (UTF-8). Errors: kCorrupt with the byte offset, kInvalidArgument
/// when a limit is exceeded. `where` leads the message (a file's name).
Result<Value> parse(std::string_view text, std::string_view where, const ParseLimits& limits = {});

/// Compact JSON: `,` and `:` without blanks, non-ASCII kept, shortest round-trip floats.
std::string dump(const Value& value);
/// Indented by two blanks.
std::string dump_pretty(const Value& value);

/// Python's json.dumps(ensure_ascii=False): floats as repr() (1.0, 1e+16), NaN/Infinity spelled so.
struct PythonStyle {
  bool sort_keys = false;  ///< recursively, by code point
  bool compact = false;    ///< separators `,` `:` instead of `, ` `: `
};
std::string dump_python(const Value& value, PythonStyle style);

/// The string as a JSON string literal, quotes included.
std::string quote(std::string_view text);

}  // namespace trine::json
