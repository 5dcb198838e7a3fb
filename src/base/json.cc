#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace trine::json {
namespace {

constexpr int kIndent = 2;

std::string shortest(double v) {
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  return std::string(buffer, end);
}

// repr(float) of Python: shortest digits, exponent form below 1e-4 and from 1e16, always a dot or
// 'e'.
std::string python_float(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  if (v == 0) return std::signbit(v) ? "-0.0" : "0.0";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr;
  std::string sci(buffer, end);
  const size_t e = sci.find('e');
  const int exponent = std::stoi(sci.substr(e + 1));
  if (exponent >= -4 && exponent < 16) {
    end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::fixed).ptr;
    std::string fixed(buffer, end);
    if (fixed.find('.') == std::string::npos) fixed += ".0";
    return fixed;
  }
  return sci;
}

struct Writer {
  std::string out;
  bool python = false;
  bool sort = false;
  bool blanks = false;
  bool pretty = false;

  void newline(int depth) {
    if (!pretty) return;
    out += '\n';
    out.append(static_cast<size_t>(depth) * kIndent, ' ');
  }

  void number(const Value& v) {
    if (v.type() == Type::kInt) {
      out += v.number_text() == "-0" ? "0" : v.number_text();
    } else if (python) {
      out += python_float(v.as_double());
    } else {
      out += std::isfinite(v.as_double()) ? v.number_text() : "null";
    }
  }

  void write(const Value& v, int depth) {
    switch (v.type()) {
      case Type::kNull: out += "null"; return;
      case Type::kBool: out += v.as_bool() ? "true" : "false"; return;
      case Type::kInt:
      case Type::kFloat: number(v); return;
      case Type::kString: out += quote(v.as_string()); return;
      case Type::kArray: {
        out += '[';
        bool first = true;
        for (const Value& item : v.as_array()) {
          if (!first) out += blanks ? ", " : ",";
          first = false;
          newline(depth + 1);
          write(item, depth + 1);
        }
        if (!first) newline(depth);
        out += ']';
        return;
      }
      case Type::kObject: {
        std::vector<const Value::Member*> members;
        for (const auto& m : v.as_object()) members.push_back(&m);
        // UTF-8 bytes order as code points do.
        if (sort)
          std::stable_sort(members.begin(), members.end(),
                           [](const auto* a, const auto* b) { return a->first < b->first; });
        out += '{';
        bool first = true;
        for (const auto* m : members) {
          if (!first) out += blanks ? ", " : ",";
          first = false;
          newline(depth + 1);
          out += quote(m->first);
          out += (blanks || pretty) ? ": " : ":";
          write(m->second, depth + 1);
        }
        if (!first) newline(depth);
        out += '}';
        return;
      }
    }
  }
};

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const ParseLimits& limits) : limits_(limits) {}

  bool null() override { return add(Value()); }
  bool boolean(bool v) override { return add(Value(v)); }
  bool number_integer(int64_t v) override { return add(Value(v)); }
  bool number_unsigned(uint64_t v) override { return add(Value(v)); }
  bool number_float(double, const std::string& text) override {
    // Integers beyond 64 bits arrive here too; their spelling tells.
    const bool is_float = text.find_first_of(".eE") != std::string::npos;
    return add(Value::number(text, is_float));
  }
  bool string(std::string& v) override { return add(Value(std::move(v))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Value::object()); }
  bool key(std::string& k) override {
    Level& level = stack_.back();
    if (!level.keys.insert(k).second) {
      if (!limits_.allow_duplicate_keys) {
        fail(Code::kCorrupt, "key " + quote(k) + " appears twice in one object");
        return false;
      }
    }
    level.key = std::move(k);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Value::array()); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail(Code::kCorrupt,
         "not valid JSON at byte " + std::to_string(position == 0 ? 0 : position - 1));
    return false;
  }

  Status status;
  Value root;

 private:
  struct Level {
    Value value;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  void fail(Code code, std::string message) {
    if (status.ok()) status = Status(code, std::move(message));
  }

  bool add(Value v) {
    if (stack_.empty()) {
      root = std::move(v);
      return true;
    }
    Level& level = stack_.back();
    if (level.value.is_array()) {
      level.value.as_array().push_back(std::move(v));
    } else if (limits_.allow_duplicate_keys) {
      level.value.set(std::move(level.key), std::move(v));
    } else {
      level.value.as_object().emplace_back(std::move(level.key), std::move(v));
    }
    return true;
  }

  bool open(Value v) {
    if (static_cast<int>(stack_.size()) >= limits_.depth_max) {
      fail(Code::kInvalidArgument,
           "nested deeper than " + std::to_string(limits_.depth_max) + " levels");
      return false;
    }
    stack_.push_back(Level{std::move(v), {}, {}});
    return true;
  }

  bool close() {
    Value v = std::move(stack_.back().value);
    stack_.pop_back();
    return add(std::move(v));
  }

  ParseLimits limits_;
  std::vector<Level> stack_;
};

}  // namespace

Value::Value(int64_t v)
    : type_(Type::kInt),
      fits_int64_(true),
      int_(v),
      double_(static_cast<double>(v)),
      text_(std::to_string(v)) {}

Value::Value(uint64_t v)
    : type_(Type::kInt),
      fits_int64_(v <= static_cast<uint64_t>(INT64_MAX)),
      int_(static_cast<int64_t>(v)),
      double_(static_cast<double>(v)),
      text_(std::to_string(v)) {}

Value::Value(double v) : type_(Type::kFloat), double_(v), text_(shortest(v)) {}

Value Value::number(std::string text, bool is_float) {
  Value v;
  v.type_ = is_float ? Type::kFloat : Type::kInt;
  v.double_ = std::strtod(text.c_str(), nullptr);
  if (!is_float) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v.int_);
    v.fits_int64_ = error == std::errc() && end == text.data() + text.size();
  }
  v.text_ = std::move(text);
  return v;
}

bool Value::to_int64(int64_t* out) const {
  if (type_ == Type::kInt && fits_int64_) {
    *out = int_;
    return true;
  }
  if (type_ == Type::kFloat && std::abs(double_) < 9.0e15 && std::floor(double_) == double_) {
    *out = static_cast<int64_t>(double_);
    return true;
  }
  return false;
}

const Value* Value::find(std::string_view key) const {
  for (const auto& [k, v] : object_)
    if (k == key) return &v;
  return nullptr;
}

Value& Value::set(std::string key, Value value) {
  type_ = Type::kObject;
  for (auto& [k, v] : object_)
    if (k == key) {
      v = std::move(value);
      return *this;
    }
  object_.emplace_back(std::move(key), std::move(value));
  return *this;
}

Value& Value::push(Value value) {
  type_ = Type::kArray;
  array_.push_back(std::move(value));
  return *this;
}

Result<Value> parse(std::string_view text, std::string_view where, const ParseLimits& limits) {
  const std::string prefix = where.empty() ? "" : std::string(where) + ": ";
  if (static_cast<int64_t>(text.size()) > limits.bytes_max)
    return Status(Code::kInvalidArgument, prefix + "JSON of " + std::to_string(text.size()) +
                                              " bytes, at most " +
                                              std::to_string(limits.bytes_max) + " are accepted");
  Builder builder(limits);
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (!parsed || !builder.status.ok()) {
    if (builder.status.ok()) return Status(Code::kCorrupt, prefix + "not valid JSON");
    return Status(builder.status.code(), prefix + builder.status.message());
  }
  return std::move(builder.root);
}

std::string dump(const Value& value) {
  Writer w;
  w.write(value, 0);
  return std::move(w.out);
}

std::string dump_pretty(const Value& value) {
  Writer w;
  w.pretty = true;
  w.write(value, 0);
  return std::move(w.out);
}

std::string dump_python(const Value& value, PythonStyle style) {
  Writer w;
  w.python = true;
  w.sort = style.sort_keys;
  w.blanks = !style.compact;
  w.write(value, 0);
  return std::move(w.out);
}

std::string quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char ch : text) {
    const auto c = static_cast<unsigned char>(ch);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (c < 0x20) {
          out += "\\u00";
          out += kHex[c >> 4];
          out += kHex[c & 15];
        } else {
          out += ch;
        }
    }
  }
  return out + "\"";
}

}  // namespace trine::json
