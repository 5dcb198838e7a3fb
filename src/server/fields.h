// Tables of the fields that an object of a request may have: checked by one function, described to
// clients (openapi.json) from the same rows.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "server/problem.h"

namespace trine::server {

enum Types : uint32_t {
  kBool = 1,
  kInt = 2,
  kNumber = 4,  ///< integers too
  kString = 8,
  kArray = 16,
  kObject = 32,
  kAnything = 63,
};

enum class Handling {
  kHonoured,
  kWithoutEffect,  ///< checked, then forgotten
  kRefused,        ///< only null or the neutral value is accepted
};

struct FieldTable;

struct Field {
  std::string_view name;
  uint32_t types = kAnything;
  Handling handling = Handling::kHonoured;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;               ///< the least value itself is not allowed
  std::string_view values = {};         ///< strings that are allowed: "a|b|c"; empty: any
  const FieldTable* members = nullptr;  ///< of the object, if the value is one
  uint32_t items = kAnything;           ///< types of an array's elements
  const FieldTable* item_members = nullptr;
  int64_t items_max = std::numeric_limits<int64_t>::max();
  bool required = false;
  bool null_is_value = false;     ///< null is not the same as absent
  std::string_view neutral = {};  ///< JSON that a refused field may have
  std::string_view note = {};     ///< what it does, or what to do instead
};

struct FieldTable {
  std::string_view name;  ///< of the schema in openapi.json
  std::span<const Field> fields;
  bool open = false;  ///< other members are allowed
};

/// Checks presence, type, range, values, members and elements of all fields of `object`. `where` is
/// the path of the object ("messages[2]"), empty for the request itself.
MaybeProblem check_fields(const json::Value& object, const std::string& where,
                          const FieldTable& table);

/// "messages[2].role".
std::string path_of(const std::string& where, std::string_view name);
std::string path_of(const std::string& where, size_t index);

/// The member's value unless it is absent or null.
const json::Value* given(const json::Value& object, std::string_view key);
/// A problem when it is.
MaybeProblem needs(const json::Value& object, const std::string& where, const char* key);
// Of objects that passed check_fields: the member, or `otherwise` when it is not given.
bool bool_of(const json::Value& object, std::string_view key, bool otherwise);
int64_t int_of(const json::Value& object, std::string_view key, int64_t otherwise);
double number_of(const json::Value& object, std::string_view key, double otherwise);
std::string string_of(const json::Value& object, std::string_view key,
                      std::string_view otherwise = "");

/// JSON Schema of a table, self-contained.
json::Value schema_of(const FieldTable& table);

/// JSON of the value, shortened to what fits into a message.
std::string shown(const json::Value& value);

}  // namespace trine::server
