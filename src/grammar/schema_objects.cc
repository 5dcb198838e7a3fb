#include "grammar/schema_objects.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/try.h"

namespace trine::grammar {
namespace {

constexpr int64_t kPlacesMax = 100'000;  ///< members times counts
constexpr size_t kPatternsMax = 8;       ///< all their combinations are looked at

}  // namespace

// Declared names in the order of the schemas, then required ones that none declares.
void ObjectRules::collect_members() {
  const std::unordered_set<std::string> required(shape_.required.begin(), shape_.required.end());
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (!seen.insert(name).second) return;
    Member member{name, required.contains(name), {}};
    std::vector<uint32_t> chars;
    if (decode_utf8(name, &chars) && rules_.reader_.member_schemas(shape_, name, &member.schemas)) {
      members_.push_back(std::move(member));
    } else if (member.is_required) {
      member.schemas = {rules_.reader_.nothing()};
      members_.push_back(std::move(member));
    }
  };
  for (const ObjectFacet& f : shape_.objects)
    for (const auto& [name, schema] : f.properties) add(name);
  for (const std::string& name : shape_.required) add(name);
}

// Names that are not declared, cut by which patterns they match.
Status ObjectRules::collect_others() {
  const bool closed = rules_.reader_.options().closed_objects &&
                      std::any_of(shape_.objects.begin(), shape_.objects.end(), [](const auto& f) {
                        return f.additional == nullptr && f.index != nullptr;
                      });
  std::vector<std::vector<uint32_t>> known;
  const auto add_known = [&](const std::string& name) {
    if (!decode_utf8(name, &known.emplace_back())) known.pop_back();
  };
  for (const ObjectFacet& f : shape_.objects)
    for (const auto& [name, schema] : f.properties) add_known(name);
  for (const std::string& name : shape_.required) add_known(name);
  for (const std::string& name : shape_.forbidden) add_known(name);
  const bool has_patterns = std::any_of(shape_.objects.begin(), shape_.objects.end(),
                                        [](const auto& f) { return !f.patterns.empty(); });
  CharDfa unknown = known.empty() ? CharDfa::everything() : complement(CharDfa::of_texts(known));
  for (const auto& dfa : shape_.names) {
    TRINE_ASSIGN_OR_RETURN(unknown, intersect(unknown, *dfa));
  }
  if (has_patterns) return split_patterns(unknown);
  Others all{std::move(unknown), {}};
  for (const ObjectFacet& f : shape_.objects)
    if (f.additional != nullptr) all.schemas.push_back(f.additional);
  names_are_free_ = known.empty() && shape_.names.empty();
  if (!closed && !all.names.empty()) others_.push_back(std::move(all));
  return {};
}

Status ObjectRules::split_patterns(const CharDfa& unknown) {
  struct Pattern {
    const CharDfa* dfa;
    SchemaNode schema;
    size_t facet;
  };
  std::vector<Pattern> patterns;
  for (size_t f = 0; f < shape_.objects.size(); ++f)
    for (const auto& [dfa, schema] : shape_.objects[f].patterns)
      patterns.push_back({dfa.get(), schema, f});
  if (patterns.size() > kPatternsMax)
    return rules_.reader_.error(
        node_, "patternProperties",
        "has more than " + std::to_string(kPatternsMax) + " patterns for one object");
  for (size_t set = 0; set < size_t{1} << patterns.size(); ++set) {
    Others group{unknown, {}};
    std::vector<bool> matched(shape_.objects.size(), false);
    for (size_t p = 0; p < patterns.size() && !group.names.empty(); ++p) {
      const bool in = (set >> p & 1) != 0;
      TRINE_ASSIGN_OR_RETURN(
          group.names,
          intersect(group.names, in ? *patterns[p].dfa : complement(*patterns[p].dfa)));
      if (!in) continue;
      group.schemas.push_back(patterns[p].schema);
      matched[patterns[p].facet] = true;
    }
    if (group.names.empty()) continue;
    bool allowed = set != 0 || !rules_.reader_.options().closed_objects;
    for (size_t f = 0; f < matched.size(); ++f) {
      const SchemaNode additional = shape_.objects[f].additional;
      if (matched[f] || additional == nullptr) continue;
      allowed = true;
      group.schemas.push_back(additional);
    }
    if (allowed) others_.push_back(std::move(group));
  }
  return {};
}

Status ObjectRules::add(int32_t from, int32_t to) {
  collect_members();
  if (const Status s = collect_others(); !s.ok())
    return rules_.reader_.error(node_, "", s.message());
  if (shape_.properties_max < kUnbounded || shape_.properties_min > 0)
    layers_ = std::max(shape_.properties_min,
                       shape_.properties_max < kUnbounded ? shape_.properties_max : 0) +
              1;
  if (layers_ * static_cast<int64_t>(members_.size() + 1) > kPlacesMax)
    return rules_.reader_.error(node_, "",
                                "counts too many properties (minProperties, maxProperties)");
  const int32_t rule = b_.rule_of(from);
  const size_t places = (members_.size() + 1) * static_cast<size_t>(layers_);
  for (size_t i = 0; i < places; ++i) {
    choose_.push_back(b_.add_state(rule));
    after_.push_back(b_.add_state(rule));
  }
  const int32_t close = b_.add_state(rule);
  b_.range(close, '}', '}', to);
  const int32_t open = text_.break_after(b_.literal(from, "{"));
  b_.epsilon(open, choose_[place(0, 0)]);
  const bool needs_none =
      std::none_of(members_.begin(), members_.end(), [](const Member& m) { return m.is_required; });
  if (needs_none && shape_.properties_min == 0) b_.epsilon(open, close);

  for (int64_t count = 0; count < layers_; ++count) {
    const bool full = shape_.properties_max < kUnbounded && count >= shape_.properties_max;
    const int64_t next = std::min(count + 1, layers_ - 1);
    for (size_t i = 0; i <= members_.size() && !full; ++i) {
      const int32_t comma = b_.literal(after_[place(i, count)], ",");
      b_.epsilon(text_.break_after(comma), choose_[place(i, count)]);
      if (i < members_.size()) {
        if (!members_[i].is_required)
          b_.epsilon(choose_[place(i, count)], choose_[place(i + 1, count)]);
        TRINE_RETURN_IF_ERROR(add_member(members_[i], i, count, after_[place(i + 1, next)]));
      } else {
        TRINE_RETURN_IF_ERROR(add_others(count, after_[place(i, next)]));
      }
    }
  }
  add_ends(close);
  return rules_.check_size(node_);
}

// Where the object may end: nothing required is left, and there are enough members.
void ObjectRules::add_ends(int32_t close) {
  const int32_t before_close = b_.add_state(b_.rule_of(close));
  b_.epsilon(text_.break_after(before_close), close);
  for (size_t i = members_.size() + 1; i-- > 0;) {
    if (i < members_.size() && members_[i].is_required) break;
    for (int64_t count = std::min(shape_.properties_min, layers_ - 1); count < layers_; ++count)
      b_.epsilon(after_[place(i, count)], before_close);
  }
}

Status ObjectRules::add_member(const Member& member, size_t index, int64_t count, int32_t to) {
  const int32_t name_end = b_.add_state(b_.rule_of(to));
  text_.add_value(choose_[place(index, count)], name_end, json::Value(member.name));
  TRINE_ASSIGN_OR_RETURN(const int32_t value, rules_.rule_of(member.schemas));
  b_.call(text_.blank_after(b_.literal(name_end, ":")), value, to);
  return {};
}

Status ObjectRules::add_others(int64_t count, int32_t to) {
  const int32_t from = choose_[place(members_.size(), count)];
  for (const Others& group : others_) {
    const int32_t name_end = b_.add_state(b_.rule_of(to));
    if (names_are_free_)
      text_.add_string(from, name_end, 0, kUnbounded, false);
    else
      text_.add_string(from, name_end, group.names, false);
    TRINE_ASSIGN_OR_RETURN(const int32_t value, rules_.rule_of(group.schemas));
    b_.call(text_.blank_after(b_.literal(name_end, ":")), value, to);
  }
  return {};
}

}  // namespace trine::grammar
