// From schema objects to shapes: references followed, combinations multiplied out.
#include <algorithm>

#include "base/try.h"
#include "grammar/schema_keywords.h"
#include "grammar/schema_shape.h"

namespace trine::grammar {
namespace {

constexpr int kDepthMax = 64;          ///< schemas inside schemas at one place of the value
constexpr size_t kShapesMax = 10'000;  ///< alternatives of one place
constexpr int64_t kWorkMax = 1'000'000;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    out.push_back(low >= 0 ? static_cast<char>(high * 16 + low) : text[i]);
    if (low >= 0) i += 2;
  }
  return out;
}

std::string pointer_unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '~' && i + 1 < text.size();
    out.push_back(escape && text[i + 1] == '0'   ? '~'
                  : escape && text[i + 1] == '1' ? '/'
                                                 : text[i]);
    if (escape) ++i;
  }
  return out;
}

std::string pointer_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace

SchemaReader::SchemaReader(const json::Value& document, const SchemaOptions& options)
    : options_(options), document_(&document) {
  std::vector<SchemaNode> todo = {document_};
  for (size_t i = 0; i < todo.size(); ++i) {
    const SchemaNode node = todo[i];
    for (const auto& [key, member] : node->as_object()) {
      origins_.emplace(&member, Origin{node, key, todo.size()});
      todo.push_back(&member);
    }
    for (size_t k = 0; k < node->as_array().size(); ++k) {
      const json::Value& item = node->as_array()[k];
      origins_.emplace(&item, Origin{node, std::to_string(k), todo.size()});
      todo.push_back(&item);
    }
  }
}

std::string SchemaReader::where(SchemaNode node) const {
  std::string path;
  for (auto at = origins_.find(node); at != origins_.end(); at = origins_.find(at->second.parent))
    path = '/' + pointer_escaped(at->second.key) + path;
  return '#' + path;
}

Status SchemaReader::error(SchemaNode node, const std::string& keyword,
                           const std::string& what) const {
  return {Code::kInvalidArgument,
          "schema " + where(node) + ": " + (keyword.empty() ? "" : "'" + keyword + "' ") + what};
}

Result<SchemaNode> SchemaReader::resolve(const std::string& pointer) const {
  SchemaNode at = document_;
  for (size_t begin = 0; begin < pointer.size();) {
    const size_t end = std::min(pointer.find('/', begin + 1), pointer.size());
    const std::string key = pointer_unescaped(pointer.substr(begin + 1, end - begin - 1));
    const SchemaNode member = at->find(key);
    const bool is_number =
        !key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos;
    if (member != nullptr) {
      at = member;
    } else if (at->is_array() && is_number && std::stoul(key) < at->as_array().size()) {
      at = &at->as_array()[std::stoul(key)];
    } else {
      return Status(Code::kInvalidArgument, "nothing is at '" + pointer + "' of the schema");
    }
    begin = end;
  }
  return at;
}

Result<SchemaNode> SchemaReader::follow(SchemaNode node) const {
  const SchemaNode value = node->find("$ref");
  if (!value->is_string()) return error(node, "$ref", "must be a string");
  std::string_view ref = value->as_string();
  const SchemaNode id = document_->find("$id");
  if (id != nullptr && id->is_string() && ref.starts_with(id->as_string()))
    ref.remove_prefix(id->as_string().size());
  if (ref != "#" && !ref.starts_with("#/") && !(ref.empty() && !value->as_string().empty()))
    return error(node, "$ref",
                 "is '" + value->as_string() +
                     "'; only places in the same schema can be referred to (#, #/$defs/name)");
  if (!ref.empty()) ref.remove_prefix(1);
  Result<SchemaNode> found = resolve(percent_decoded(ref));
  return found.ok() ? found : error(node, "$ref", "leads nowhere: " + found.status().message());
}

Result<SchemaNode> SchemaReader::target(SchemaNode node) const {
  for (int hops = 0; hops <= kDepthMax; ++hops) {
    if (!node->is_object() || node->find("$ref") == nullptr) return node;
    for (const auto& [keyword, value] : node->as_object())
      if (keyword != "$ref" && !KeywordReader::is_annotation(keyword)) return node;
    TRINE_ASSIGN_OR_RETURN(node, follow(node));
  }
  return error(node, "$ref", "leads back to itself");
}

Result<Shapes> SchemaReader::read(const std::vector<SchemaNode>& nodes) {
  Shapes shapes(1);
  for (const SchemaNode node : nodes) {
    TRINE_ASSIGN_OR_RETURN(const Shapes more, expand(node, 0));
    TRINE_ASSIGN_OR_RETURN(shapes, multiply(shapes, more, node, "allOf"));
  }
  return shapes;
}

Result<Shapes> SchemaReader::expand(SchemaNode node, int depth) {
  if (node->is_bool()) return node->as_bool() ? Shapes(1) : Shapes();
  if (!node->is_object()) return error(node, "", "a schema must be an object, true or false");
  if (depth > kDepthMax)
    return error(node, node->find("$ref") != nullptr ? "$ref" : "",
                 "is nested too deeply or leads back to itself");
  if (++work_ > kWorkMax) return error(node, "", "the schema takes too much work to unfold");
  Shape own;
  TRINE_RETURN_IF_ERROR(KeywordReader(this, node).read(&own));
  return combined({std::move(own)}, node, depth);
}

Result<Shapes> SchemaReader::combined(Shapes shapes, SchemaNode node, int depth) {
  if (node->find("$ref") != nullptr) {
    TRINE_ASSIGN_OR_RETURN(const SchemaNode target, follow(node));
    TRINE_ASSIGN_OR_RETURN(const Shapes other, expand(target, depth + 1));
    TRINE_ASSIGN_OR_RETURN(shapes, multiply(shapes, other, node, "$ref"));
  }
  for (const std::string keyword : {"allOf", "anyOf", "oneOf"}) {
    const SchemaNode list = node->find(keyword);
    if (list == nullptr) continue;
    if (!list->is_array() || list->as_array().empty())
      return error(node, keyword, "must be a list of schemas");
    if (keyword == "oneOf") {
      TRINE_ASSIGN_OR_RETURN(shapes, one_of(shapes, node, *list, depth));
      continue;
    }
    Shapes any;
    for (const json::Value& branch : list->as_array()) {
      TRINE_ASSIGN_OR_RETURN(Shapes other, expand(&branch, depth + 1));
      if (keyword == "allOf") {
        TRINE_ASSIGN_OR_RETURN(shapes, multiply(shapes, other, node, keyword));
      } else {
        std::move(other.begin(), other.end(), std::back_inserter(any));
      }
      if (any.size() > kShapesMax) return error(node, keyword, "has too many alternatives");
    }
    if (keyword == "anyOf") {
      TRINE_ASSIGN_OR_RETURN(shapes, multiply(shapes, any, node, keyword));
    }
  }
  return shapes;
}

Result<Shapes> SchemaReader::one_of(const Shapes& base, SchemaNode node, const json::Value& list,
                                    int depth) {
  std::vector<Shapes> branches;
  for (const json::Value& branch : list.as_array()) {
    TRINE_ASSIGN_OR_RETURN(const Shapes other, expand(&branch, depth + 1));
    TRINE_ASSIGN_OR_RETURN(Shapes both, multiply(base, other, node, "oneOf"));
    branches.push_back(std::move(both));
  }
  Shapes all;
  for (size_t i = 0; i < branches.size(); ++i) {
    for (size_t k = i + 1; k < branches.size(); ++k)
      for (Shape& a : branches[i])
        for (Shape& b : branches[k]) {
          if (++work_ > kWorkMax) return error(node, "oneOf", "takes too much work to check");
          TRINE_ASSIGN_OR_RETURN(const bool apart, keep_apart(&a, &b, 0));
          if (!apart)
            return error(node, "oneOf",
                         "has branches " + std::to_string(i) + " and " + std::to_string(k) +
                             " that may both fit one value; give them different types, a "
                             "required constant each, or use anyOf");
        }
  }
  for (Shapes& branch : branches) std::move(branch.begin(), branch.end(), std::back_inserter(all));
  if (all.size() > kShapesMax) return error(node, "oneOf", "has too many alternatives");
  return all;
}

Result<Shapes> SchemaReader::multiply(const Shapes& a, const Shapes& b, SchemaNode node,
                                      const std::string& keyword) {
  if (a.size() * b.size() > kShapesMax) return error(node, keyword, "has too many alternatives");
  Shapes out;
  for (const Shape& x : a)
    for (const Shape& y : b) {
      work_ += 1 + static_cast<int64_t>(x.objects.size() + x.texts.size()) / 16;
      if (work_ > kWorkMax) return error(node, keyword, "takes too much work to unfold");
      Shape both = x;
      if (!merge(y, &both))
        return error(node, keyword, "has two values of 'multipleOf' that cannot be put together");
      if (both.types != 0) out.push_back(std::move(both));
    }
  return out;
}

uint8_t SchemaReader::types_of(const Shape& shape) const {
  if (shape.typed || shape.values || !options_.infer_types) return shape.types;
  uint8_t meant = 0;
  if (!shape.objects.empty() || !shape.required.empty() || !shape.names.empty() ||
      shape.properties_min > 0 || shape.properties_max < kUnbounded)
    meant |= kObjectBit;
  if (!shape.arrays.empty() || shape.items_min > 0 || shape.items_max < kUnbounded)
    meant |= kArrayBit;
  if (!shape.texts.empty() || shape.length_min > 0 || shape.length_max < kUnbounded)
    meant |= kStringBit;
  if (!shape.number.is_free()) meant |= kNumberBits;
  const uint8_t types = shape.types & meant;
  return types == 0 ? shape.types : types;
}

}  // namespace trine::grammar
