#include "grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "base/try.h"
#include "grammar/formats.h"
#include "grammar/regex.h"

namespace trine::grammar {
namespace {

struct TypeName {
  std::string_view name;
  uint8_t bits;
};
constexpr std::array<TypeName, 7> kTypeNames = {{{"null", kNullBit},
                                                 {"boolean", kBooleanBit},
                                                 {"object", kObjectBit},
                                                 {"array", kArrayBit},
                                                 {"string", kStringBit},
                                                 {"integer", kIntegerBit},
                                                 {"number", kNumberBits}}};

constexpr std::string_view kAnnotations[] = {
    "title",       "description",   "default",      "examples", "example",   "$schema",
    "$id",         "$comment",      "deprecated",   "readOnly", "writeOnly", "$defs",
    "definitions", "discriminator", "externalDocs", "xml"};

template <size_t N>
bool contains(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

}  // namespace

bool KeywordReader::is_annotation(std::string_view keyword) {
  return contains(kAnnotations, keyword) || keyword.starts_with("x-");
}

Status KeywordReader::read(Shape* shape) {
  constexpr std::string_view kCombined[] = {"$ref", "allOf", "anyOf", "oneOf"};
  for (const auto& [keyword, value] : node_->as_object()) {
    if (contains(kCombined, keyword) || is_annotation(keyword)) continue;
    keyword_ = keyword;
    TRINE_RETURN_IF_ERROR(read_keyword(value));
  }
  if (has_object_) shape_.objects.push_back(std::move(object_));
  if (has_array_) shape_.arrays.push_back(std::move(array_));
  *shape = std::move(shape_);
  return {};
}

Status KeywordReader::read_keyword(const Value& value) {
  const std::string_view k = keyword_;
  if (k == "type") return read_type(value);
  if (k == "nullable") return value.is_bool() ? Status() : error("must be true or false");
  if (k == "enum") return read_enum(value);
  if (k == "const") return shape_.values = std::vector<SchemaNode>{&value}, Status();
  if (k == "pattern") return read_pattern(value);
  if (k == "format") return read_format(value);
  if (k == "minLength") return read_count(value, &shape_.length_min);
  if (k == "maxLength") return read_count(value, &shape_.length_max);
  if (k.starts_with("min") || k.starts_with("max") || k.starts_with("exclusive") ||
      k == "multipleOf") {
    if (k.ends_with("Items")) return read_array_keyword(value);
    if (k.ends_with("Properties")) return read_object_keyword(value);
    return read_number_keyword(value);
  }
  if (k == "items" || k == "prefixItems" || k == "uniqueItems") return read_array_keyword(value);
  return read_object_keyword(value);
}

Status KeywordReader::read_number_keyword(const Value& value) {
  const std::string_view k = keyword_;
  if (k == "minimum") return read_bound(value, true, false);
  if (k == "exclusiveMinimum") return read_bound(value, true, true);
  if (k == "maximum") return read_bound(value, false, false);
  if (k == "exclusiveMaximum") return read_bound(value, false, true);
  if (k != "multipleOf") return error("is not supported");
  if (!value.is_number()) return error("must be a number");
  const Decimal d = parse_decimal(value.number_text());
  if (d.negative || d.is_zero()) return error("must be above 0");
  shape_.number.multiple_of = d;
  return {};
}

Status KeywordReader::read_bound(const Value& value, bool low, bool exclusive) {
  if (!value.is_number())
    return error(value.is_bool() ? "must be a number (true and false are of draft 4)"
                                 : "must be a number");
  NumberSpec one;
  (low ? one.low : one.high) = NumberBound{parse_decimal(value.number_text()), exclusive};
  Shape other;
  other.number = std::move(one);
  merge(other, &shape_);
  return {};
}

Status KeywordReader::read_count(const Value& value, int64_t* count) {
  const Decimal d = value.is_number() ? parse_decimal(value.number_text()) : Decimal();
  if (!value.is_number() || d.negative || !d.fraction.empty())
    return error("must be an integer, 0 or more");
  int64_t n = 0;
  for (const char c : d.whole) n = std::min(n * 10 + (c - '0'), kUnbounded);
  *count = n;
  return {};
}

Status KeywordReader::read_type(const Value& value) {
  shape_.types = 0;
  shape_.typed = true;
  const auto add = [&](const Value& name) {
    for (const TypeName& t : kTypeNames)
      if (name.is_string() && t.name == name.as_string()) return shape_.types |= t.bits, true;
    return false;
  };
  constexpr const char* kExpected =
      "must be null, boolean, object, array, string, integer, number or a list of these";
  // OpenAPI 3.0: nullable adds null to the type that stands beside it.
  const Value* nullable = node_->find("nullable");
  if (nullable != nullptr && nullable->is_bool() && nullable->as_bool()) shape_.types |= kNullBit;
  if (!value.is_array()) return add(value) ? Status() : error(kExpected);
  if (value.as_array().empty()) return error("must name at least one type");
  const bool known = std::all_of(value.as_array().begin(), value.as_array().end(), add);
  return known ? Status() : error(kExpected);
}

Status KeywordReader::read_enum(const Value& value) {
  if (!value.is_array()) return error("must be a list");
  std::vector<SchemaNode> values;
  for (const Value& v : value.as_array()) values.push_back(&v);
  Shape other;
  other.values = std::move(values);
  merge(other, &shape_);
  return {};
}

Result<std::shared_ptr<const CharDfa>> KeywordReader::pattern_dfa(const Value& key,
                                                                  const std::string& pattern) {
  std::shared_ptr<const CharDfa>& known = reader_.dfas_[&key];
  if (known == nullptr) {
    Result<CharDfa> dfa = regex_dfa(pattern, Anchoring::kSearch);
    if (!dfa.ok()) return error(dfa.status().message());
    known = std::make_shared<const CharDfa>(std::move(dfa).value());
  }
  return known;
}

Status KeywordReader::read_pattern(const Value& value) {
  if (!value.is_string()) return error("must be a string");
  TRINE_ASSIGN_OR_RETURN(auto dfa, pattern_dfa(value, value.as_string()));
  if (!dfa->is_everything()) shape_.texts.push_back(std::move(dfa));
  return {};
}

Status KeywordReader::read_format(const Value& value) {
  if (!value.is_string()) return error("must be a string");
  const std::string& format = value.as_string();
  if (format == "int32" || format == "int64") {  // OpenAPI's
    const bool small = format == "int32";
    NumberSpec range;
    range.low = NumberBound{parse_decimal(small ? "-2147483648" : "-9223372036854775808")};
    range.high = NumberBound{parse_decimal(small ? "2147483647" : "9223372036854775807")};
    Shape other;
    other.number = std::move(range);
    merge(other, &shape_);
    return {};
  }
  if (format == "float" || format == "double") return {};
  std::shared_ptr<const CharDfa>& known = reader_.dfas_[&value];
  if (known == nullptr) {
    Result<CharDfa> dfa = format_dfa(format);
    if (!dfa.ok()) return error(dfa.status().message());
    known = std::make_shared<const CharDfa>(std::move(dfa).value());
  }
  shape_.texts.push_back(known);
  return {};
}

Status KeywordReader::read_array_keyword(const Value& value) {
  const std::string_view k = keyword_;
  if (k == "minItems") return read_count(value, &shape_.items_min);
  if (k == "maxItems") return read_count(value, &shape_.items_max);
  if (k == "uniqueItems") return read_unique(value);
  if (k == "items") {
    if (value.is_array()) return error("must be one schema (a list of them is prefixItems)");
    array_.items = &value;
  } else if (k == "prefixItems") {
    if (!value.is_array()) return error("must be a list of schemas");
    for (const Value& v : value.as_array()) array_.prefix.push_back(&v);
  } else {
    return error("is not supported");
  }
  has_array_ = true;
  return {};
}

Status KeywordReader::read_unique(const Value& value) {
  if (!value.is_bool()) return error("must be true or false");
  int64_t max = kUnbounded;
  if (const Value* items = node_->find("maxItems")) TRINE_RETURN_IF_ERROR(read_count(*items, &max));
  if (!value.as_bool() || max <= 1) return {};
  return error("is not supported: which items are left to choose depends on all before");
}

Status KeywordReader::read_object_keyword(const Value& value) {
  const std::string_view k = keyword_;
  if (k == "minProperties") return read_count(value, &shape_.properties_min);
  if (k == "maxProperties") return read_count(value, &shape_.properties_max);
  if (k == "required") return read_required(value);
  if (k == "propertyNames") return read_property_names(value);
  if (k == "properties") return read_properties(value);
  if (k == "patternProperties") return read_pattern_properties(value);
  if (k != "additionalProperties") return error("is not supported");
  object_.additional = &value;
  has_object_ = true;
  return {};
}

Status KeywordReader::read_properties(const Value& value) {
  if (!value.is_object()) return error("must be an object of schemas");
  for (const auto& [name, schema] : value.as_object())
    object_.properties.emplace_back(name, &schema);
  auto index = std::make_shared<NameIndex>();
  for (const auto& [name, schema] : value.as_object()) index->emplace(name, &schema);
  object_.index = std::move(index);
  has_object_ = true;
  return {};
}

Status KeywordReader::read_pattern_properties(const Value& value) {
  if (!value.is_object()) return error("must be an object of schemas");
  for (const auto& [pattern, schema] : value.as_object()) {
    TRINE_ASSIGN_OR_RETURN(auto dfa, pattern_dfa(schema, pattern));
    object_.patterns.emplace_back(std::move(dfa), &schema);
  }
  has_object_ = true;
  return {};
}

// Names are strings: what the schema demands of strings, as one language.
Status KeywordReader::read_property_names(const Value& value) {
  const std::string keyword = keyword_;
  TRINE_ASSIGN_OR_RETURN(const Shapes shapes, reader_.read({&value}));
  if (shapes.size() > 1) return error("is not supported with alternatives");
  CharDfa dfa = CharDfa::of_texts({});
  if (!shapes.empty() && (shapes[0].types & kStringBit) != 0) {
    const Shape& shape = shapes[0];
    dfa = CharDfa::everything();
    if (shape.values) {
      std::vector<std::vector<uint32_t>> texts;
      for (const SchemaNode v : *shape.values)
        if (v->is_string() && !decode_utf8(v->as_string(), &texts.emplace_back())) texts.pop_back();
      dfa = CharDfa::of_texts(texts);
    }
    for (const auto& text : shape.texts) {
      TRINE_ASSIGN_OR_RETURN(dfa, intersect(dfa, *text));
    }
    if (shape.length_min > 0 || shape.length_max < kUnbounded) {
      TRINE_ASSIGN_OR_RETURN(const CharDfa lengths,
                             CharDfa::of_length(shape.length_min, shape.length_max));
      TRINE_ASSIGN_OR_RETURN(dfa, intersect(dfa, lengths));
    }
  }
  shape_.names.push_back(std::make_shared<const CharDfa>(std::move(dfa)));
  return {};
}

Status KeywordReader::read_required(const Value& value) {
  if (!value.is_array()) return error("must be a list of names");
  std::unordered_set<std::string_view> seen;
  for (const Value& name : value.as_array()) {
    if (!name.is_string()) return error("must be a list of names");
    if (seen.insert(name.as_string()).second) shape_.required.push_back(name.as_string());
  }
  return {};
}

}  // namespace trine::grammar
