// Objects of one shape: names in the schema's order, then additional ones.
#pragma once

#include <string>
#include <vector>

#include "grammar/schema_rules.h"

namespace trine::grammar {

class ObjectRules {
 public:
  ObjectRules(SchemaRules* rules, const Shape& shape, SchemaNode node)
      : rules_(*rules), b_(rules->b_), text_(rules->text_), shape_(shape), node_(node) {}

  Status add(int32_t from, int32_t to);

 private:
  using Nodes = std::vector<SchemaNode>;
  struct Member {  // a name that is known, or a language of names
    std::string name;
    bool is_required = false;
    Nodes schemas;
  };
  struct Others {
    CharDfa names;
    Nodes schemas;
  };

  void collect_members();
  Status collect_others();
  Status split_patterns(const CharDfa& unknown);
  Status add_member(const Member& member, size_t index, int64_t count, int32_t to);
  Status add_others(int64_t count, int32_t to);
  void add_ends(int32_t close);
  size_t place(size_t index, int64_t count) const {
    return index * static_cast<size_t>(layers_) + static_cast<size_t>(count);
  }

  SchemaRules& rules_;
  ProgramBuilder& b_;
  JsonText& text_;
  const Shape& shape_;
  const SchemaNode node_;
  std::vector<Member> members_;
  std::vector<Others> others_;
  bool names_are_free_ = false;  // one kind of others, of any name
  int64_t layers_ = 1;           // how many members can be told apart
  std::vector<int32_t> choose_;  // by (next member, count): a name must come
  std::vector<int32_t> after_;   // by (next member, count): a member has just ended
};

}  // namespace trine::grammar
