// Values against shapes: which members of enum are left, and which branches of oneOf exclude each
// other.
#include <algorithm>

#include "base/try.h"
#include "grammar/schema_shape.h"

namespace trine::grammar {
namespace {

constexpr int kDepthMax = 64;
constexpr int kApartDepthMax = 3;

// Of two numbers' bounds: the first ends before the second begins.
bool below(const NumberSpec& a, const NumberSpec& b) {
  if (!a.high || !b.low) return false;
  const int c = compare(a.high->value, b.low->value);
  return c < 0 || (c == 0 && (a.high->exclusive || b.low->exclusive));
}

bool requires_name(const Shape& shape, const std::string& name) {
  return std::find(shape.required.begin(), shape.required.end(), name) != shape.required.end();
}

bool declares(const Shape& shape, const std::string& name) {
  return std::any_of(shape.objects.begin(), shape.objects.end(), [&](const ObjectFacet& f) {
    return f.index != nullptr && f.index->contains(name);
  });
}

}  // namespace

bool SchemaReader::member_schemas(const Shape& shape, const std::string& name,
                                  std::vector<SchemaNode>* nodes) const {
  if (std::find(shape.forbidden.begin(), shape.forbidden.end(), name) != shape.forbidden.end())
    return false;
  std::vector<uint32_t> chars;
  const bool needs_chars =
      !shape.names.empty() || std::any_of(shape.objects.begin(), shape.objects.end(),
                                          [](const ObjectFacet& f) { return !f.patterns.empty(); });
  if (needs_chars && !decode_utf8(name, &chars)) return false;
  for (const auto& dfa : shape.names)
    if (!dfa->matches(chars)) return false;
  bool declared = false;
  bool closed = false;
  for (const ObjectFacet& f : shape.objects) {
    const size_t before = nodes->size();
    if (f.index != nullptr) {
      const auto found = f.index->find(name);
      if (found != f.index->end()) nodes->push_back(found->second);
    }
    for (const auto& [dfa, schema] : f.patterns)
      if (dfa->matches(chars)) nodes->push_back(schema);
    declared = declared || nodes->size() > before;
    closed = closed || (f.additional == nullptr && f.index != nullptr);
    if (nodes->size() == before && f.additional != nullptr) nodes->push_back(f.additional);
  }
  for (const SchemaNode node : *nodes)
    if (node->is_bool() && !node->as_bool()) return false;
  return declared || !closed || !options_.closed_objects;
}

Result<bool> SchemaReader::accepts(const std::vector<SchemaNode>& nodes, const json::Value& value,
                                   int depth) {
  TRINE_ASSIGN_OR_RETURN(const Shapes shapes, read(nodes));
  for (const Shape& shape : shapes) {
    TRINE_ASSIGN_OR_RETURN(const bool fits, accepts(shape, value, depth));
    if (fits) return true;
  }
  return false;
}

Result<bool> SchemaReader::accepts(const Shape& shape, const json::Value& value, int depth) {
  if (depth > kDepthMax)
    return Status(Code::kInvalidArgument, "a value of enum or const is nested too deeply");
  if ((shape.types & type_bit(value)) == 0) return false;
  if (shape.values && depth > 0) {
    const std::string key = value_key(value);
    if (std::none_of(shape.values->begin(), shape.values->end(),
                     [&](SchemaNode v) { return value_key(*v) == key; }))
      return false;
  }
  if (value.is_number()) return number_fits(shape.number, parse_decimal(value.number_text()));
  if (value.is_array()) return array_fits(shape, value, depth);
  if (value.is_object()) return object_fits(shape, value, depth);
  if (!value.is_string()) return true;
  std::vector<uint32_t> chars;
  if (!decode_utf8(value.as_string(), &chars)) return false;
  const auto length = static_cast<int64_t>(chars.size());
  return length >= shape.length_min && length <= shape.length_max &&
         std::all_of(shape.texts.begin(), shape.texts.end(),
                     [&](const auto& dfa) { return dfa->matches(chars); });
}

Result<bool> SchemaReader::array_fits(const Shape& shape, const json::Value& value, int depth) {
  const json::Value::Array& items = value.as_array();
  const auto count = static_cast<int64_t>(items.size());
  if (count < shape.items_min || count > shape.items_max) return false;
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<SchemaNode> nodes;
    for (const ArrayFacet& f : shape.arrays)
      if (const SchemaNode n = i < f.prefix.size() ? f.prefix[i] : f.items) nodes.push_back(n);
    TRINE_ASSIGN_OR_RETURN(const bool fits, accepts(nodes, items[i], depth + 1));
    if (!fits) return false;
  }
  return true;
}

Result<bool> SchemaReader::object_fits(const Shape& shape, const json::Value& value, int depth) {
  const auto count = static_cast<int64_t>(value.as_object().size());
  if (count < shape.properties_min || count > shape.properties_max) return false;
  for (const std::string& name : shape.required)
    if (value.find(name) == nullptr) return false;
  for (const auto& [name, member] : value.as_object()) {
    std::vector<SchemaNode> nodes;
    if (!member_schemas(shape, name, &nodes)) return false;
    TRINE_ASSIGN_OR_RETURN(const bool fits, accepts(nodes, member, depth + 1));
    if (!fits) return false;
  }
  return true;
}

Result<bool> SchemaReader::strings_apart(const Shape& a, const Shape& b) const {
  if (a.length_max < b.length_min || b.length_max < a.length_min) return true;
  if (a.texts.empty() || b.texts.empty()) return false;
  CharDfa both = *a.texts[0];
  for (const Shape* shape : {&a, &b})
    for (const auto& dfa : shape->texts) {
      TRINE_ASSIGN_OR_RETURN(both, intersect(both, *dfa));
    }
  return both.empty();
}

Result<bool> SchemaReader::keep_apart(Shape* a, Shape* b, int depth) {
  uint8_t common = types_of(*a) & types_of(*b);
  if (a->values || b->values) {
    // Every value of one must be refused by the other.
    const Shape& listed = a->values ? *a : *b;
    const Shape& other = a->values ? *b : *a;
    for (const SchemaNode v : *listed.values) {
      TRINE_ASSIGN_OR_RETURN(const bool fits, accepts(other, *v, 1));
      TRINE_ASSIGN_OR_RETURN(const bool own, accepts(listed, *v, 1));
      if (fits && own) return false;
      if (++work_ > 1'000'000) return error(v, "oneOf", "takes too much work to check");
    }
    return true;
  }
  if ((common & (kNullBit | kBooleanBit)) != 0) return false;
  if ((common & kNumberBits) != 0 && !below(a->number, b->number) && !below(b->number, a->number))
    return false;
  if ((common & kArrayBit) != 0 && a->items_max >= b->items_min && b->items_max >= a->items_min)
    return false;
  if ((common & kStringBit) != 0) {
    TRINE_ASSIGN_OR_RETURN(const bool apart, strings_apart(*a, *b));
    if (!apart) return false;
  }
  if ((common & kObjectBit) == 0) return true;
  return objects_apart(a, b, depth);
}

Result<bool> SchemaReader::objects_apart(Shape* a, Shape* b, int depth) {
  if (a->properties_max < b->properties_min || b->properties_max < a->properties_min) return true;
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
    for (const std::string& name : y->required) {
      std::vector<SchemaNode> of_x;
      std::vector<SchemaNode> of_y;
      if (!member_schemas(*x, name, &of_x) || !member_schemas(*y, name, &of_y)) return true;
      if (x == b || !requires_name(*x, name) || depth >= kApartDepthMax) continue;
      TRINE_ASSIGN_OR_RETURN(Shapes shapes_x, read(of_x));
      TRINE_ASSIGN_OR_RETURN(Shapes shapes_y, read(of_y));
      bool apart = shapes_x.size() * shapes_y.size() <= 100;
      for (size_t i = 0; i < shapes_x.size() && apart; ++i)
        for (size_t k = 0; k < shapes_y.size() && apart; ++k) {
          // What is forbidden in copies does not last, so only objects that differ anyway count.
          TRINE_ASSIGN_OR_RETURN(const bool differ,
                                 keep_apart(&shapes_x[i], &shapes_y[k], kApartDepthMax));
          apart = differ;
        }
      if (apart) return true;
    }
  if (depth >= kApartDepthMax) return false;
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
    for (const std::string& name : y->required)
      if (!declares(*x, name) && !requires_name(*x, name))
        return x->forbidden.push_back(name), true;
  return false;
}

}  // namespace trine::grammar
