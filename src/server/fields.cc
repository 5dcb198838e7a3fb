#include "server/fields.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trine::server {
namespace {

using json::Value;

struct TypeName {
  uint32_t bit;
  const char* words;
  const char* schema;
};
constexpr TypeName kTypeNames[] = {
    {kBool, "true or false", "boolean"}, {kInt, "an integer", "integer"},
    {kNumber, "a number", "number"},     {kString, "a string", "string"},
    {kArray, "an array", "array"},       {kObject, "an object", "object"},
};

bool is_whole(const Value& value) {
  int64_t ignored = 0;
  return value.is_number() && value.to_int64(&ignored);
}

bool has_type(const Value& value, uint32_t types) {
  switch (value.type()) {
    case json::Type::kNull: return false;
    case json::Type::kBool: return (types & kBool) != 0;
    case json::Type::kInt:
    case json::Type::kFloat:
      return ((types & kNumber) != 0 && std::isfinite(value.as_double())) ||
             ((types & kInt) != 0 && is_whole(value));
    case json::Type::kString: return (types & kString) != 0;
    case json::Type::kArray: return (types & kArray) != 0;
    case json::Type::kObject: return (types & kObject) != 0;
  }
  return false;
}

std::string type_words(uint32_t types) {
  std::string out;
  for (const TypeName& name : kTypeNames) {
    if ((types & name.bit) == 0) continue;
    if (!out.empty()) out += " or ";
    out += name.words;
  }
  return out;
}

std::string number_text(double value) { return json::dump(Value(value)); }

std::string range_words(const Field& field) {
  std::string out;
  if (std::isfinite(field.min))
    out += (field.above_min ? "above " : "at least ") + number_text(field.min);
  if (std::isfinite(field.max))
    out += (out.empty() ? "" : " and ") + ("at most " + number_text(field.max));
  return out;
}

bool in_range(const Field& field, double value) {
  return value <= field.max && (field.above_min ? value > field.min : value >= field.min);
}

std::vector<std::string_view> split_values(std::string_view values) {
  std::vector<std::string_view> out;
  while (!values.empty()) {
    out.push_back(values.substr(0, values.find('|')));
    values.remove_prefix(std::min(values.size(), out.back().size() + 1));
  }
  return out;
}

std::string values_words(std::string_view values) {
  std::string out;
  for (const std::string_view value : split_values(values))
    out += (out.empty() ? "" : ", ") + json::quote(value);
  return out;
}

bool is_among(std::string_view text, std::string_view values) {
  for (const std::string_view value : split_values(values))
    if (text == value) return true;
  return false;
}

Problem wrong_type(const std::string& path, const Value& found, uint32_t types) {
  Problem problem = invalid(path, "found " + shown(found) + ", expected " + type_words(types));
  problem.code = "invalid_type";
  return problem;
}

MaybeProblem check_items(const Value& array, const std::string& path, const Field& field) {
  if (static_cast<int64_t>(array.as_array().size()) > field.items_max)
    return invalid(path, "found " + std::to_string(array.as_array().size()) +
                             " elements, expected at most " + std::to_string(field.items_max));
  for (size_t i = 0; i < array.as_array().size(); ++i) {
    const Value& item = array.as_array()[i];
    const std::string place = path_of(path, i);
    if (!has_type(item, field.items) && !(item.is_null() && field.items == kAnything))
      return wrong_type(place, item, field.items);
    if (field.item_members != nullptr && item.is_object())
      TRINE_RETURN_IF_PROBLEM(check_fields(item, place, *field.item_members));
  }
  return std::nullopt;
}

MaybeProblem check_value(const Value& value, const std::string& path, const Field& field) {
  if (field.handling == Handling::kRefused) {
    if (!field.neutral.empty() && json::dump(value) == field.neutral) return std::nullopt;
    std::string what = "is not supported";
    if (!field.neutral.empty()) what += "; leave it out, or give " + std::string(field.neutral);
    if (!field.note.empty()) what += ": " + std::string(field.note);
    return unsupported(path, what);
  }
  if (!has_type(value, field.types)) return wrong_type(path, value, field.types);
  if (value.is_number() && !in_range(field, value.as_double()))
    return invalid(path, "found " + shown(value) + ", expected " + range_words(field));
  if (value.is_string() && !field.values.empty() && !is_among(value.as_string(), field.values))
    return invalid(path,
                   "found " + shown(value) + ", expected one of " + values_words(field.values));
  if (value.is_object() && field.members != nullptr)
    return check_fields(value, path, *field.members);
  if (value.is_array()) return check_items(value, path, field);
  return std::nullopt;
}

const Field* find_field(const FieldTable& table, std::string_view name) {
  for (const Field& field : table.fields)
    if (field.name == name) return &field;
  return nullptr;
}

std::string known_names(const FieldTable& table) {
  std::string out;
  for (const Field& field : table.fields) {
    if (field.handling == Handling::kRefused) continue;
    out += (out.empty() ? "" : ", ") + std::string(field.name);
  }
  return out;
}

Value schema_of_types(uint32_t types) {
  Value names = Value::array();
  for (const TypeName& name : kTypeNames)
    if ((types & name.bit) != 0) names.push(name.schema);
  return names;
}

Value schema_of_field(const Field& field) {
  Value out = Value::object();
  if (!field.note.empty()) out.set("description", std::string(field.note));
  if (field.handling == Handling::kRefused) {
    Value neutral = Value::array();
    neutral.push(nullptr);
    if (!field.neutral.empty()) {
      Result<Value> value = json::parse(field.neutral, "");
      if (value.ok()) neutral.push(*std::move(value));
    }
    out.set("enum", std::move(neutral));
    return out;
  }
  Value types = schema_of_types(field.types);
  if (!field.required) types.push("null");
  out.set("type", std::move(types));
  if (std::isfinite(field.min))
    out.set(field.above_min ? "exclusiveMinimum" : "minimum", field.min);
  if (std::isfinite(field.max)) out.set("maximum", field.max);
  if (!field.values.empty()) {
    Value values = Value::array();
    for (const std::string_view value : split_values(field.values)) values.push(value);
    if (!field.required) values.push(nullptr);
    // Other types than strings are judged by their own words.
    if ((field.types & ~uint32_t{kString}) == 0) out.set("enum", std::move(values));
  }
  if (field.members != nullptr) {
    const Value members = schema_of(*field.members);
    for (const auto& [key, value] : members.as_object())
      if (key != "type") out.set(key, value);
  }
  if ((field.types & kArray) != 0) {
    if (field.item_members != nullptr && field.items == kObject) {
      out.set("items", schema_of(*field.item_members));
    } else if (field.items != kAnything) {
      Value items;
      items.set("type", schema_of_types(field.items));
      out.set("items", std::move(items));
    }
    if (field.items_max != std::numeric_limits<int64_t>::max())
      out.set("maxItems", field.items_max);
  }
  return out;
}

}  // namespace

std::string path_of(const std::string& where, std::string_view name) {
  return where.empty() ? std::string(name) : where + "." + std::string(name);
}

std::string path_of(const std::string& where, size_t index) {
  return where + "[" + std::to_string(index) + "]";
}

std::string shown(const Value& value) {
  constexpr size_t kShownMax = 80;
  std::string text = json::dump(value);
  if (text.size() <= kShownMax) return text;
  size_t end = kShownMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

MaybeProblem check_fields(const Value& object, const std::string& where, const FieldTable& table) {
  if (!object.is_object()) return invalid(where, "found " + shown(object) + ", expected an object");
  for (const auto& [key, value] : object.as_object()) {
    const Field* field = find_field(table, key);
    if (field == nullptr) {
      if (table.open) continue;
      Problem problem = invalid(path_of(where, key),
                                "is no field of this request; known are " + known_names(table));
      problem.code = "unknown_parameter";
      return problem;
    }
    if (value.is_null() && (field->null_is_value || !field->required)) continue;
    TRINE_RETURN_IF_PROBLEM(check_value(value, path_of(where, key), *field));
  }
  for (const Field& field : table.fields) {
    if (!field.required || object.find(field.name) != nullptr) continue;
    Problem problem = invalid(path_of(where, field.name), "is missing");
    problem.code = "missing_required_parameter";
    return problem;
  }
  return std::nullopt;
}

const Value* given(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

MaybeProblem needs(const Value& object, const std::string& where, const char* key) {
  if (given(object, key) != nullptr) return std::nullopt;
  return invalid(path_of(where, key), "is missing");
}

bool bool_of(const Value& object, std::string_view key, bool otherwise) {
  const Value* value = given(object, key);
  return value == nullptr ? otherwise : value->as_bool();
}

int64_t int_of(const Value& object, std::string_view key, int64_t otherwise) {
  const Value* value = given(object, key);
  int64_t out = otherwise;
  return value != nullptr && value->to_int64(&out) ? out : otherwise;
}

double number_of(const Value& object, std::string_view key, double otherwise) {
  const Value* value = given(object, key);
  return value == nullptr ? otherwise : value->as_double();
}

std::string string_of(const Value& object, std::string_view key, std::string_view otherwise) {
  const Value* value = given(object, key);
  return value == nullptr || !value->is_string() ? std::string(otherwise) : value->as_string();
}

Value schema_of(const FieldTable& table) {
  Value properties = Value::object();
  Value required = Value::array();
  for (const Field& field : table.fields) {
    properties.set(std::string(field.name), schema_of_field(field));
    if (field.required) required.push(std::string(field.name));
  }
  Value out;
  out.set("type", "object");
  out.set("properties", std::move(properties));
  if (!required.as_array().empty()) out.set("required", std::move(required));
  out.set("additionalProperties", table.open);
  return out;
}

}  // namespace trine::server
