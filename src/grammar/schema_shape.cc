// Putting two shapes together, and comparing values.
#include "grammar/schema_shape.h"

#include <algorithm>
#include <unordered_set>

namespace trine::grammar {
namespace {

void merge_bounds(const NumberSpec& other, NumberSpec* spec) {
  const auto tighter = [](const NumberBound& a, const NumberBound& b, int sign) {
    const int c = sign * compare(a.value, b.value);
    return c > 0 || (c == 0 && a.exclusive);
  };
  if (other.low && (!spec->low || tighter(*other.low, *spec->low, 1))) spec->low = other.low;
  if (other.high && (!spec->high || tighter(*other.high, *spec->high, -1))) spec->high = other.high;
}

// False when the two multiples are not the same, and neither is a multiple of the other.
bool merge_multiples(const NumberSpec& other, NumberSpec* spec) {
  if (!other.multiple_of) return true;
  NumberSpec mine;
  mine.multiple_of = spec->multiple_of;
  if (!spec->multiple_of || number_fits(mine, *other.multiple_of)) {
    spec->multiple_of = other.multiple_of;
    return true;
  }
  mine.multiple_of = other.multiple_of;
  return number_fits(mine, *spec->multiple_of);
}

template <typename T>
void append(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

uint8_t type_bit(const json::Value& value) {
  switch (value.type()) {
    case json::Type::kNull: return kNullBit;
    case json::Type::kBool: return kBooleanBit;
    case json::Type::kString: return kStringBit;
    case json::Type::kArray: return kArrayBit;
    case json::Type::kObject: return kObjectBit;
    case json::Type::kInt: return kIntegerBit;
    case json::Type::kFloat: break;
  }
  return parse_decimal(value.number_text()).fraction.empty() ? kIntegerBit : kFractionBit;
}

std::string value_key(const json::Value& value) {
  std::string key;
  switch (value.type()) {
    case json::Type::kNull: return "null";
    case json::Type::kBool: return value.as_bool() ? "true" : "false";
    case json::Type::kString: return json::quote(value.as_string());
    case json::Type::kArray:
      for (const json::Value& item : value.as_array()) key += value_key(item) + ',';
      return '[' + key + ']';
    case json::Type::kObject: {
      std::vector<std::string> members;
      for (const auto& [name, member] : value.as_object())
        members.push_back(json::quote(name) + ':' + value_key(member) + ',');
      std::sort(members.begin(), members.end());
      for (const std::string& member : members) key += member;
      return '{' + key + '}';
    }
    default: break;
  }
  const Decimal d = parse_decimal(value.number_text());
  return (d.negative ? "-" : "+") + d.whole + '.' + d.fraction;
}

bool merge(const Shape& other, Shape* shape) {
  shape->types &= other.types;
  shape->typed = shape->typed || other.typed;
  if (other.values && shape->values) {
    std::unordered_set<std::string> keys;
    for (const SchemaNode v : *other.values) keys.insert(value_key(*v));
    std::erase_if(*shape->values, [&](SchemaNode v) { return !keys.contains(value_key(*v)); });
  } else if (other.values) {
    shape->values = other.values;
  }
  merge_bounds(other.number, &shape->number);
  append(other.texts, &shape->texts);
  shape->length_min = std::max(shape->length_min, other.length_min);
  shape->length_max = std::min(shape->length_max, other.length_max);
  append(other.arrays, &shape->arrays);
  shape->items_min = std::max(shape->items_min, other.items_min);
  shape->items_max = std::min(shape->items_max, other.items_max);
  append(other.objects, &shape->objects);
  if (!other.required.empty()) {
    const std::unordered_set<std::string> mine(shape->required.begin(), shape->required.end());
    for (const std::string& name : other.required)
      if (!mine.contains(name)) shape->required.push_back(name);
  }
  append(other.forbidden, &shape->forbidden);
  append(other.names, &shape->names);
  shape->properties_min = std::max(shape->properties_min, other.properties_min);
  shape->properties_max = std::min(shape->properties_max, other.properties_max);
  return merge_multiples(other.number, &shape->number);
}

}  // namespace trine::grammar
