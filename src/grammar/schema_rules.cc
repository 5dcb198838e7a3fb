#include "grammar/schema_rules.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "grammar/schema_objects.h"

namespace trine::grammar {
namespace {

constexpr size_t kRulesMax = 20'000;

}  // namespace

SchemaRules::SchemaRules(const json::Value& document, const SchemaOptions& options)
    : reader_(document, options), text_(&b_, options) {}

Result<Program> SchemaRules::compile() && {
  TRINE_ASSIGN_OR_RETURN(const SchemaNode root, reader_.root());
  TRINE_ASSIGN_OR_RETURN(Shapes shapes, reader_.read({root}));
  const int32_t rule = b_.add_rule("schema " + reader_.where(root));
  TRINE_RETURN_IF_ERROR(add_alternatives(rule, shapes, root, true));
  while (!open_.empty()) {
    const auto [nodes, open] = std::move(open_.back());
    open_.pop_back();
    const SchemaNode node = nodes.empty() ? root : nodes[0];
    TRINE_ASSIGN_OR_RETURN(shapes, reader_.read(nodes));
    TRINE_RETURN_IF_ERROR(add_alternatives(open, shapes, node, false));
    if (rules_.size() > kRulesMax)
      return reader_.error(node, "", "the schema unfolds to too many rules");
  }
  return std::move(b_).finish(rule, kJsonDepthMax);
}

Result<int32_t> SchemaRules::rule_of(Nodes nodes) {
  for (SchemaNode& node : nodes) {
    TRINE_ASSIGN_OR_RETURN(node, reader_.target(node));
  }
  std::erase_if(nodes, [](SchemaNode n) {
    return (n->is_bool() && n->as_bool()) || (n->is_object() && n->as_object().empty());
  });
  std::sort(nodes.begin(), nodes.end(),
            [this](SchemaNode a, SchemaNode b) { return reader_.before(a, b); });
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const auto found = rules_.find(nodes);
  if (found != rules_.end()) return found->second;
  const int32_t rule =
      b_.add_rule(nodes.empty() ? "any value" : "schema " + reader_.where(nodes[0]));
  rules_.emplace(nodes, rule);
  open_.emplace_back(std::move(nodes), rule);
  return rule;
}

Status SchemaRules::check_size(SchemaNode node) const {
  if (!b_.too_large()) return {};
  return reader_.error(
      node, "",
      "the schema is too large: more than " + std::to_string(kStatesMax) + " states at this place");
}

Status SchemaRules::add_alternatives(int32_t rule, const Shapes& shapes, SchemaNode node,
                                     bool is_root) {
  for (const Shape& shape : shapes) {
    TRINE_RETURN_IF_ERROR(add_shape(shape, b_.start(rule), b_.final(rule), node, is_root));
    TRINE_RETURN_IF_ERROR(check_size(node));
  }
  return {};
}

Status SchemaRules::add_shape(const Shape& shape, int32_t from, int32_t to, SchemaNode node,
                              bool is_root) {
  uint8_t types = reader_.types_of(shape);
  if (is_root) types &= reader_.options().root_types;
  const bool bare = is_root && reader_.options().bare_root_string;
  if (shape.values) return add_values(shape, types, from, to, bare);
  if ((types & kNullBit) != 0) b_.epsilon(b_.literal(from, "null"), to);
  if ((types & kBooleanBit) != 0) text_.add_texts(from, to, {"false", "true"});
  if ((types & kNumberBits) != 0)
    TRINE_RETURN_IF_ERROR(add_number_rule(shape, types, from, to, node));
  if ((types & kStringBit) != 0) TRINE_RETURN_IF_ERROR(add_string(shape, from, to, node, bare));
  if ((types & kArrayBit) != 0) TRINE_RETURN_IF_ERROR(add_array(shape, from, to, node));
  if ((types & kObjectBit) == 0) return {};
  return ObjectRules(this, shape, node).add(from, to);
}

Status SchemaRules::add_values(const Shape& shape, uint8_t types, int32_t from, int32_t to,
                               bool bare) {
  std::vector<std::string> texts;
  for (const SchemaNode v : *shape.values) {
    if ((types & type_bit(*v)) == 0) continue;
    TRINE_ASSIGN_OR_RETURN(const bool fits, reader_.accepts(shape, *v, 0));
    if (!fits) continue;
    std::vector<uint32_t> chars;
    if (v->is_array() || v->is_object()) {
      text_.add_value(from, to, *v);
    } else if (!v->is_string()) {
      texts.push_back(json::dump(*v));
    } else if (decode_utf8(v->as_string(), &chars)) {
      texts.push_back(bare ? v->as_string() : '"' + canonical_json(chars) + '"');
    }
  }
  text_.add_texts(from, to, std::move(texts));
  return {};
}

Status SchemaRules::add_number_rule(const Shape& shape, uint8_t types, int32_t from, int32_t to,
                                    SchemaNode node) {
  NumberSpec spec = shape.number;
  spec.plain = (types & kIntegerBit) != 0;
  spec.fractional = (types & kFractionBit) != 0;
  const bool shared = spec.is_free() && spec.plain && spec.fractional;
  if (shared && number_ >= 0) return b_.call(from, number_, to), Status();
  const int32_t rule = b_.add_rule("number");
  if (shared) number_ = rule;
  const Status status = add_number(spec, b_.start(rule), b_.final(rule), &b_);
  if (!status.ok()) return reader_.error(node, "multipleOf", status.message());
  b_.call(from, rule, to);
  return {};
}

Status SchemaRules::add_string(const Shape& shape, int32_t from, int32_t to, SchemaNode node,
                               bool bare) {
  if (shape.length_min > shape.length_max) return {};
  if (shape.texts.empty()) {
    text_.add_string(from, to, shape.length_min, shape.length_max, bare);
    return {};
  }
  CharDfa dfa = *shape.texts[0];
  const auto narrow = [&](const CharDfa& other) {
    Result<CharDfa> both = intersect(dfa, other);
    if (!both.ok())
      return reader_.error(
          node, "pattern",
          "with its other conditions on length or text " + both.status().message());
    dfa = std::move(both).value();
    return Status();
  };
  for (size_t i = 1; i < shape.texts.size(); ++i) TRINE_RETURN_IF_ERROR(narrow(*shape.texts[i]));
  int64_t min = 0;
  int64_t max = 0;
  dfa.lengths(&min, &max);
  if (min < shape.length_min || max > shape.length_max) {
    const Result<CharDfa> lengths = CharDfa::of_length(shape.length_min, shape.length_max);
    if (!lengths.ok())
      return reader_.error(node, "pattern",
                           "with minLength or maxLength " + lengths.status().message());
    TRINE_RETURN_IF_ERROR(narrow(*lengths));
  }
  if (!dfa.empty()) text_.add_string(from, to, dfa, bare);
  return {};
}

Status SchemaRules::add_array(const Shape& shape, int32_t from, int32_t to, SchemaNode node) {
  size_t prefix = 0;
  for (const ArrayFacet& f : shape.arrays) prefix = std::max(prefix, f.prefix.size());
  const int32_t rule = b_.rule_of(from);
  const int32_t close = b_.add_state(rule);
  b_.range(close, ']', ']', to);
  const int32_t last = b_.add_state(rule);  // the list may end here
  b_.epsilon(text_.break_after(last), close);
  const int32_t open = text_.break_after(b_.literal(from, "["));
  if (shape.items_min == 0) b_.epsilon(open, close);
  int32_t at = open;
  const auto first_rest = static_cast<int64_t>(std::max<size_t>(prefix, 1));
  for (int64_t i = 0; i < first_rest && i < shape.items_max; ++i) {
    Nodes nodes;
    for (const ArrayFacet& f : shape.arrays) {
      const bool listed = static_cast<size_t>(i) < f.prefix.size();
      if (const SchemaNode n = listed ? f.prefix[static_cast<size_t>(i)] : f.items)
        nodes.push_back(n);
    }
    TRINE_ASSIGN_OR_RETURN(const int32_t item, rule_of(std::move(nodes)));
    if (i > 0) at = text_.break_after(b_.literal(at, ","));
    at = b_.call(at, item);
    if (i + 1 >= shape.items_min) b_.epsilon(at, last);
  }
  if (first_rest < shape.items_max) {
    TRINE_ASSIGN_OR_RETURN(at, add_rest(shape, at, first_rest));
    b_.epsilon(at, last);
  }
  return check_size(node);
}

Result<int32_t> SchemaRules::add_rest(const Shape& shape, int32_t from, int64_t first) {
  Nodes nodes;
  for (const ArrayFacet& f : shape.arrays)
    if (f.items != nullptr) nodes.push_back(f.items);
  TRINE_ASSIGN_OR_RETURN(const int32_t item, rule_of(std::move(nodes)));
  const int32_t body = b_.add_rule("further items");
  b_.call(text_.break_after(b_.literal(b_.start(body), ",")), item, b_.final(body));
  const int64_t max = shape.items_max == kUnbounded ? kUnbounded : shape.items_max - first;
  return b_.repeat(from, body, std::max<int64_t>(0, shape.items_min - first), max);
}

}  // namespace trine::grammar
