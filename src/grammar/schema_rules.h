// From shapes to rules: one rule for each set of schemas that a value must fit at once.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/json_text.h"
#include "grammar/schema_shape.h"

namespace trine::grammar {

class SchemaRules {
 public:
  SchemaRules(const json::Value& document, const SchemaOptions& options);

  Result<Program> compile() &&;

 private:
  friend class ObjectRules;
  using Nodes = std::vector<SchemaNode>;

  /// The rule of values that fit all of these.
  Result<int32_t> rule_of(Nodes nodes);
  Status add_alternatives(int32_t rule, const Shapes& shapes, SchemaNode node, bool is_root);
  Status add_shape(const Shape& shape, int32_t from, int32_t to, SchemaNode node, bool is_root);
  Status add_values(const Shape& shape, uint8_t types, int32_t from, int32_t to, bool bare);
  Status add_number_rule(const Shape& shape, uint8_t types, int32_t from, int32_t to,
                         SchemaNode node);
  Status add_string(const Shape& shape, int32_t from, int32_t to, SchemaNode node, bool bare);
  Status add_array(const Shape& shape, int32_t from, int32_t to, SchemaNode node);
  /// The items from position `first` on; returns where the list goes on after min to max of them.
  Result<int32_t> add_rest(const Shape& shape, int32_t from, int64_t first);
  Status check_size(SchemaNode node) const;

  ProgramBuilder b_;
  SchemaReader reader_;
  JsonText text_;
  std::map<Nodes, int32_t> rules_;
  std::vector<std::pair<Nodes, int32_t>> open_;  // rules without content yet
  int32_t number_ = -1;                          // the rule of any number
};

}  // namespace trine::grammar
