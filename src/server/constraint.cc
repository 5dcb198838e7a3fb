// Structured output; see the header.
#include "server/constraint.h"

#include <algorithm>
#include <optional>

#include "base/try.h"

namespace trine::server {
namespace {

constexpr size_t kShapesMax = 64;  ///< that are remembered

using Content = ConstraintSpec::Content;
using ToolChoice = ConstraintSpec::ToolChoice;

// The whole text is the content, and then it ends.
class PlainConstraint final : public Constraint {
 public:
  PlainConstraint(std::shared_ptr<const grammar::Grammar> grammar, const TextTokens& tokens,
                  std::vector<int32_t> end_ids)
      : matcher_(std::move(grammar), tokens.table()), end_ids_(std::move(end_ids)) {}

  bool mask(std::span<uint64_t> allowed) override {
    if (done_) return false;
    std::fill(allowed.begin(), allowed.end(), 0);
    // What cannot be followed ends the request: no token is left.
    if (!matcher_.fill_mask(allowed).ok()) std::fill(allowed.begin(), allowed.end(), 0);
    if (matcher_.can_end())
      for (const int32_t id : end_ids_) set_bit(allowed, id);
    return true;
  }

  void accept(int32_t id) override { done_ = done_ || !matcher_.accept(id).ok(); }

 private:
  grammar::Matcher matcher_;
  std::vector<int32_t> end_ids_;
  bool done_ = false;
};

bool any_strict(const ConstraintSpec& spec) {
  return std::any_of(spec.tools.begin(), spec.tools.end(),
                     [](const ToolSpec& tool) { return tool.strict; });
}

// Everything that the compiled shape depends on.
std::string key_of(const ConstraintSpec& spec) {
  json::Value key;
  key.push(spec.chat);
  key.push(static_cast<int>(spec.content));
  key.push(spec.schema);
  key.push(spec.gbnf);
  key.push(static_cast<int>(spec.tool_choice));
  key.push(spec.parallel_calls);
  for (const ToolSpec& tool : spec.tools) {
    key.push(tool.name);
    key.push(tool.parameters);
    key.push(tool.strict);
  }
  return json::dump(key);
}

}  // namespace

ConstraintMaker::ConstraintMaker(const Tokenizer& tokenizer, std::vector<int32_t> end_ids)
    : tokens_(std::make_shared<TextTokens>(tokenizer)), end_ids_(std::move(end_ids)) {}

Result<ConstraintMaker::Grammar> ConstraintMaker::content_grammar(const ConstraintSpec& spec) {
  switch (spec.content) {
    case Content::kFree: return Grammar();
    case Content::kJsonObject: {
      grammar::JsonOptions options;
      options.root_types = grammar::kObjectBit;
      return grammar::Grammar::from_json_mode(options);
    }
    case Content::kJsonSchema: return grammar::Grammar::from_schema(spec.schema);
    case Content::kGbnf: return grammar::Grammar::from_gbnf(spec.gbnf);
  }
  return Grammar();
}

Result<ConstraintMaker::Shape> ConstraintMaker::compile(const ConstraintSpec& spec) {
  auto shape = std::make_shared<ChatShape>();
  shape->parallel = spec.parallel_calls;
  TRINE_ASSIGN_OR_RETURN(shape->content, content_grammar(spec));
  if (!spec.chat || spec.tool_choice == ToolChoice::kNone || spec.tools.empty())
    return Shape(shape);
  const bool required = spec.tool_choice == ToolChoice::kRequired;
  shape->tools = required ? ChatShape::Tools::kRequired : ChatShape::Tools::kAllowed;
  for (const ToolSpec& tool : spec.tools) {
    Result<ToolForm> form = tool_form(tool);
    if (!form.ok() && !required && !tool.strict) form = loose_tool_form(tool);
    if (!form.ok()) return form.status();
    shape->forms.push_back(*std::move(form));
  }
  return Shape(shape);
}

Result<ConstraintMaker::Shape> ConstraintMaker::remembered(const ConstraintSpec& spec) {
  std::string key = key_of(spec);
  {
    const std::lock_guard lock(mutex_);
    for (auto it = shapes_.begin(); it != shapes_.end(); ++it) {
      if (it->first != key) continue;
      shapes_.splice(shapes_.begin(), shapes_, it);
      return it->second;
    }
  }
  TRINE_ASSIGN_OR_RETURN(Shape shape, compile(spec));
  const std::lock_guard lock(mutex_);
  shapes_.emplace_front(std::move(key), shape);
  if (shapes_.size() > kShapesMax) shapes_.pop_back();
  return shape;
}

Result<std::shared_ptr<Constraint>> ConstraintMaker::make(const ConstraintSpec& spec) {
  using Made = std::shared_ptr<Constraint>;
  const bool free = spec.content == Content::kFree;
  if (spec.chat && spec.tool_choice == ToolChoice::kRequired && spec.tools.empty())
    return Status(Code::kInvalidArgument, "a tool call is required, but there are no tools");
  const bool auto_is_free = spec.tool_choice == ToolChoice::kAuto && !any_strict(spec);
  if (free && (!spec.chat || spec.tools.empty() || auto_is_free)) return Made();
  TRINE_ASSIGN_OR_RETURN(Shape shape, remembered(spec));
  if (spec.chat) return Made(std::make_shared<ChatConstraint>(shape, tokens_, spec.thinking));
  return Made(std::make_shared<PlainConstraint>(shape->content, *tokens_, end_ids_));
}

}  // namespace trine::server
