// The keywords of one schema object, each checked and read into a Shape.
#pragma once

#include <string_view>

#include "grammar/schema_shape.h"

namespace trine::grammar {

class KeywordReader {
 public:
  KeywordReader(SchemaReader* reader, SchemaNode node) : reader_(*reader), node_(node) {}

  /// All but $ref, allOf, anyOf and oneOf, which SchemaReader combines.
  Status read(Shape* shape);
  /// No say in what is valid, or read elsewhere.
  static bool is_annotation(std::string_view keyword);

 private:
  using Value = json::Value;

  Status error(const std::string& what) const { return reader_.error(node_, keyword_, what); }
  Status read_keyword(const Value& value);
  Status read_number_keyword(const Value& value);
  Status read_object_keyword(const Value& value);
  Status read_array_keyword(const Value& value);
  Status read_type(const Value& value);
  Status read_enum(const Value& value);
  Status read_format(const Value& value);
  Status read_bound(const Value& value, bool low, bool exclusive);
  Status read_count(const Value& value, int64_t* count);
  Status read_properties(const Value& value);
  Status read_pattern_properties(const Value& value);
  Status read_property_names(const Value& value);
  Status read_required(const Value& value);
  Status read_unique(const Value& value);
  Status read_pattern(const Value& value);
  Result<std::shared_ptr<const CharDfa>> pattern_dfa(const Value& key, const std::string& pattern);

  SchemaReader& reader_;
  SchemaNode node_;
  std::string keyword_;
  Shape shape_;
  ObjectFacet object_;
  ArrayFacet array_;
  bool has_object_ = false, has_array_ = false;
};

}  // namespace trine::grammar
