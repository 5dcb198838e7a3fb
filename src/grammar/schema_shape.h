// What a schema demands of a value, as a list of alternatives ("shapes") without references or
// combinations: $ref is followed, allOf is merged, anyOf and oneOf are multiplied out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "grammar/char_dfa.h"
#include "grammar/grammar.h"
#include "grammar/numbers.h"

namespace trine::grammar {

using SchemaNode = const json::Value*;

using NameIndex = std::unordered_map<std::string, SchemaNode>;

/// Members of one schema's object keywords. Facets of several schemas (allOf) hold together.
struct ObjectFacet {
  std::vector<std::pair<std::string, SchemaNode>> properties;
  std::shared_ptr<const NameIndex> index;  ///< of properties; null when there are none
  std::vector<std::pair<std::shared_ptr<const CharDfa>, SchemaNode>> patterns;
  SchemaNode additional = nullptr;  ///< null = the keyword is absent
};

struct ArrayFacet {
  std::vector<SchemaNode> prefix;
  SchemaNode items = nullptr;  ///< null = anything
};

/// A conjunction. What concerns other types than the value's has no say.
struct Shape {
  uint8_t types = kAnyBits;
  bool typed = false;                             ///< some schema of it named types
  std::optional<std::vector<SchemaNode>> values;  ///< enum, const: one of these

  NumberSpec number;
  std::vector<std::shared_ptr<const CharDfa>> texts;
  int64_t length_min = 0, length_max = kUnbounded;

  std::vector<ArrayFacet> arrays;
  int64_t items_min = 0, items_max = kUnbounded;

  std::vector<ObjectFacet> objects;
  std::vector<std::string> required;
  std::vector<std::string> forbidden;  ///< names that oneOf keeps apart by
  std::vector<std::shared_ptr<const CharDfa>> names;
  int64_t properties_min = 0, properties_max = kUnbounded;
};
using Shapes = std::vector<Shape>;

class SchemaReader {
 public:
  SchemaReader(const json::Value& document, const SchemaOptions& options);

  /// The schema that options.root_pointer names.
  Result<SchemaNode> root() const { return resolve(options_.root_pointer); }
  /// Follows `$ref` where nothing else constrains.
  Result<SchemaNode> target(SchemaNode node) const;
  /// All of these schemas at once. No shape: nothing fits.
  Result<Shapes> read(const std::vector<SchemaNode>& nodes);
  /// Types that a shape means: where none was named, those that its keywords are about.
  uint8_t types_of(const Shape& shape) const;
  /// Whether a value (of enum or const) fits all these schemas.
  Result<bool> accepts(const std::vector<SchemaNode>& nodes, const json::Value& value, int depth);
  Result<bool> accepts(const Shape& shape, const json::Value& value, int depth);
  /// The schemas that a member of this name must fit; false if there may be none.
  bool member_schemas(const Shape& shape, const std::string& name,
                      std::vector<SchemaNode>* nodes) const;

  /// No value fits both, as far as can be shown. May forbid one of them a name that the other
  /// requires (and it does not mention) to make it so.
  Result<bool> keep_apart(Shape* a, Shape* b, int depth);

  /// "#/properties/x"
  std::string where(SchemaNode node) const;
  Status error(SchemaNode node, const std::string& keyword, const std::string& what) const;
  const SchemaOptions& options() const { return options_; }
  /// By place in the document.
  bool before(SchemaNode a, SchemaNode b) const { return order(a) < order(b); }
  /// The schema that nothing fits.
  SchemaNode nothing() const { return &nothing_; }

 private:
  friend class KeywordReader;
  size_t order(SchemaNode node) const {
    const auto found = origins_.find(node);
    return found == origins_.end() ? 0 : found->second.order;
  }
  Result<SchemaNode> resolve(const std::string& pointer) const;
  Result<SchemaNode> follow(SchemaNode node) const;
  Result<Shapes> expand(SchemaNode node, int depth);
  Result<Shapes> one_of(const Shapes& base, SchemaNode node, const json::Value& list, int depth);
  Result<Shapes> combined(Shapes shapes, SchemaNode node, int depth);
  Result<bool> objects_apart(Shape* a, Shape* b, int depth);
  Result<bool> strings_apart(const Shape& a, const Shape& b) const;
  Result<bool> array_fits(const Shape& shape, const json::Value& value, int depth);
  Result<bool> object_fits(const Shape& shape, const json::Value& value, int depth);
  Result<Shapes> multiply(const Shapes& a, const Shapes& b, SchemaNode node,
                          const std::string& keyword);

  const SchemaOptions options_;
  SchemaNode document_;
  const json::Value nothing_{false};
  struct Origin {
    SchemaNode parent;
    std::string key;
    size_t order;
  };
  std::unordered_map<SchemaNode, Origin> origins_;
  std::unordered_map<SchemaNode, std::shared_ptr<const CharDfa>> dfas_;  // of pattern and format
  int64_t work_ = 0;                                                     // schemas expanded so far
};

/// Both at once; false when their multipleOf cannot be put together.
bool merge(const Shape& other, Shape* shape);
/// Equal for values that are equal as JSON (1 and 1.0, members in any order), else different.
std::string value_key(const json::Value& value);
/// One bit of TypeBit.
uint8_t type_bit(const json::Value& value);

}  // namespace trine::grammar
