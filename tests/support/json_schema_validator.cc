#include "support/json_schema_validator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace trine::test {
namespace {

using json::Value;
using Violation = std::optional<std::string>;

size_t characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

long double number(const Value& v) { return std::strtold(v.number_text().c_str(), nullptr); }

bool is_integer(const Value& v) { return v.is_number() && std::floor(number(v)) == number(v); }

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return number(a) == number(b);
  if (a.type() != b.type()) return false;
  if (a.is_bool()) return a.as_bool() == b.as_bool();
  if (a.is_string()) return a.as_string() == b.as_string();
  if (a.is_array())
    return std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(),
                      b.as_array().end(), equal);
  if (!a.is_object()) return true;
  if (a.as_object().size() != b.as_object().size()) return false;
  for (const auto& [name, member] : a.as_object()) {
    const Value* other = b.find(name);
    if (other == nullptr || !equal(member, *other)) return false;
  }
  return true;
}

bool has_type(const std::string& type, const Value& v) {
  if (type == "null") return v.is_null();
  if (type == "boolean") return v.is_bool();
  if (type == "object") return v.is_object();
  if (type == "array") return v.is_array();
  if (type == "string") return v.is_string();
  return type == "integer" ? is_integer(v) : type == "number" && v.is_number();
}

class Validator {
 public:
  explicit Validator(const Value& root) : root_(root) {}

  Violation check(const Value& schema, const Value& v, const std::string& where) {
    if (schema.is_bool()) return schema.as_bool() ? Violation() : where + ": false";
    for (const auto& [keyword, arg] : schema.as_object()) {
      Violation bad = one(keyword, arg, schema, v, where);
      if (bad) return bad;
    }
    return {};
  }

 private:
  static Violation need(bool holds, const std::string& where, const std::string& keyword) {
    return holds ? Violation() : where + ": " + keyword;
  }

  Violation one(const std::string& k, const Value& arg, const Value& schema, const Value& v,
                const std::string& where) {
    static const std::vector<std::string> ignored = {
        "$schema", "$id",         "$comment", "title",   "description", "default",  "examples",
        "$defs",   "definitions", "nullable", "example", "deprecated",  "readOnly", "writeOnly"};
    if (std::find(ignored.begin(), ignored.end(), k) != ignored.end()) return {};
    if (k == "type") return need(type_holds(arg, schema, v), where, k);
    if (k == "const") return need(equal(arg, v), where, k);
    if (k == "enum")
      return need(std::any_of(arg.as_array().begin(), arg.as_array().end(),
                              [&](const Value& e) { return equal(e, v); }),
                  where, k);
    if (k == "$ref") return check(*find(arg.as_string()), v, where);
    if (k == "allOf" || k == "anyOf" || k == "oneOf") return combined(k, arg, v, where);
    if (k == "properties" || k == "patternProperties" || k == "additionalProperties" ||
        k == "propertyNames" || k == "required" || k == "minProperties" || k == "maxProperties")
      return v.is_object() ? object(k, arg, schema, v, where) : Violation();
    if (k == "items" || k == "prefixItems" || k == "minItems" || k == "maxItems" ||
        k == "uniqueItems")
      return v.is_array() ? array(k, arg, schema, v, where) : Violation();
    if (k == "minLength" || k == "maxLength" || k == "pattern" || k == "format")
      return v.is_string() ? need(string(k, arg, v.as_string()), where, k) : Violation();
    return v.is_number() ? need(bound(k, arg, v), where, k) : known_number(k, where);
  }

  static Violation known_number(const std::string& k, const std::string& where) {
    static const std::vector<std::string> list = {"minimum", "maximum", "exclusiveMinimum",
                                                  "exclusiveMaximum", "multipleOf"};
    const bool known = std::find(list.begin(), list.end(), k) != list.end();
    return need(known, where, "unknown keyword " + k);
  }

  static bool type_holds(const Value& arg, const Value& schema, const Value& v) {
    const Value* nullable = schema.find("nullable");
    if (nullable != nullptr && nullable->as_bool() && v.is_null()) return true;
    if (arg.is_string()) return has_type(arg.as_string(), v);
    return std::any_of(arg.as_array().begin(), arg.as_array().end(),
                       [&](const Value& t) { return has_type(t.as_string(), v); });
  }

  const Value* find(const std::string& ref) const {
    const Value* at = &root_;
    for (size_t i = 1; i < ref.size();) {
      const size_t end = std::min(ref.find('/', i + 1), ref.size());
      std::string key;
      for (size_t c = i + 1; c < end; ++c) {
        if (ref[c] == '~') {
          key += ref[++c] == '0' ? '~' : '/';
        } else if (ref[c] == '%') {
          key += static_cast<char>(std::stoi(ref.substr(c + 1, 2), nullptr, 16));
          c += 2;
        } else {
          key += ref[c];
        }
      }
      at = at->is_array() ? &at->as_array()[std::stoul(key)] : at->find(key);
      i = end;
    }
    return at;
  }

  Violation combined(const std::string& k, const Value& arg, const Value& v,
                     const std::string& where) {
    size_t valid = 0;
    for (const Value& branch : arg.as_array()) {
      Violation bad = check(branch, v, where);
      if (!bad) ++valid;
      if (bad && k == "allOf") return bad;
    }
    return need(k == "allOf" || (k == "anyOf" ? valid > 0 : valid == 1), where, k);
  }

  Violation object(const std::string& k, const Value& arg, const Value& schema, const Value& v,
                   const std::string& where) {
    const double count = static_cast<double>(v.as_object().size());
    if (k == "minProperties") return need(count >= arg.as_double(), where, k);
    if (k == "maxProperties") return need(count <= arg.as_double(), where, k);
    if (k == "required") {
      for (const Value& name : arg.as_array())
        if (v.find(name.as_string()) == nullptr) return where + ": misses " + name.as_string();
      return {};
    }
    for (const auto& [name, member] : v.as_object()) {
      Violation bad;
      const std::string place = where + "/" + name;
      if (k == "propertyNames") bad = check(arg, Value(name), place);
      if (k == "properties" && arg.find(name) != nullptr)
        bad = check(*arg.find(name), member, place);
      if (k == "patternProperties")
        for (const auto& [pattern, sub] : arg.as_object())
          if (!bad && pattern_found(pattern, name)) bad = check(sub, member, place);
      if (k == "additionalProperties" && is_additional(schema, name))
        bad = check(arg, member, place);
      if (bad) return bad;
    }
    return {};
  }

  static bool is_additional(const Value& schema, const std::string& name) {
    const Value* properties = schema.find("properties");
    if (properties != nullptr && properties->find(name) != nullptr) return false;
    const Value* patterns = schema.find("patternProperties");
    if (patterns == nullptr) return true;
    return std::none_of(patterns->as_object().begin(), patterns->as_object().end(),
                        [&](const auto& p) { return pattern_found(p.first, name); });
  }

  Violation array(const std::string& k, const Value& arg, const Value& schema, const Value& v,
                  const std::string& where) {
    const Value::Array& items = v.as_array();
    const double count = static_cast<double>(items.size());
    if (k == "minItems") return need(count >= arg.as_double(), where, k);
    if (k == "maxItems") return need(count <= arg.as_double(), where, k);
    if (k == "uniqueItems") return need(!arg.as_bool() || items.size() <= 1, where, k);
    const Value* prefix = schema.find("prefixItems");
    const size_t listed = prefix == nullptr ? 0 : prefix->as_array().size();
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string place = where + "/" + std::to_string(i);
      Violation bad;
      if (k == "prefixItems" && i < listed) bad = check(arg.as_array()[i], items[i], place);
      if (k == "items" && i >= listed) bad = check(arg, items[i], place);
      if (bad) return bad;
    }
    return {};
  }

  static bool string(const std::string& k, const Value& arg, const std::string& text) {
    const double length = static_cast<double>(characters(text));
    if (k == "minLength") return length >= arg.as_double();
    if (k == "maxLength") return length <= arg.as_double();
    if (k == "pattern") return pattern_found(arg.as_string(), text);
    return format_holds(arg.as_string(), text);
  }

  static bool bound(const std::string& k, const Value& arg, const Value& v) {
    const long double x = number(v);
    const long double b = number(arg);
    if (k == "minimum") return x >= b;
    if (k == "maximum") return x <= b;
    if (k == "exclusiveMinimum") return x > b;
    if (k == "exclusiveMaximum") return x < b;
    const long double times = x / b;
    return k == "multipleOf" && std::fabs(times - std::round(times)) <= 1e-9L * std::fabs(times);
  }

  const Value& root_;
};

}  // namespace

Violation schema_violation(const Value& schema, const Value& value) {
  return Validator(schema).check(schema, value, "#");
}

bool format_holds(std::string_view format, std::string_view text) {
  const auto number = [&](size_t at, size_t digits) {
    int value = 0;
    for (size_t i = at; i < at + digits; ++i) {
      if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value;
  };
  const auto is_date = [&] {
    const int year = number(0, 4);
    const int month = number(5, 2);
    const int day = number(8, 2);
    if (text.size() < 10 || text[4] != '-' || text[7] != '-' || year < 0 || day < 1) return false;
    static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12) return false;
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= kDays[month - 1] + (leap && month == 2 ? 1 : 0);
  };
  const auto is_time = [&](size_t at) {
    const int hour = number(at, 2);
    const int minute = number(at + 3, 2);
    const int second = number(at + 6, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
      return false;
    size_t i = at + 8;
    if (i < text.size() && text[i] == '.')
      for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      }
    if (text.substr(i) == "Z") return true;
    const int zone = number(i + 1, 2);
    const int zone_minute = number(i + 4, 2);
    return text.size() == i + 6 && (text[i] == '+' || text[i] == '-') && zone >= 0 && zone <= 23 &&
           zone_minute >= 0 && zone_minute <= 59;
  };
  if (format == "date") return text.size() == 10 && is_date();
  if (format == "time") return is_time(0);
  if (format == "date-time") return is_date() && text.size() > 10 && text[10] == 'T' && is_time(11);
  if (format == "uuid") {
    for (size_t i = 0; i < text.size(); ++i) {
      const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
      const bool hex =
          std::string_view("0123456789abcdefABCDEF").find(text[i]) != std::string_view::npos;
      if (dash ? text[i] != '-' : !hex) return false;
    }
    return text.size() == 36;
  }
  if (format == "email") {
    const size_t at = text.find('@');
    return at != std::string_view::npos && at > 0 && at <= 64 &&
           text.find('@', at + 1) == std::string_view::npos && text.size() <= 254 &&
           text[0] != '.' && text[at - 1] != '.' && text.find("..") == std::string_view::npos &&
           text.find(' ') == std::string_view::npos && text.find('.', at) != std::string_view::npos;
  }
  return true;
}

}  // namespace trine::test
