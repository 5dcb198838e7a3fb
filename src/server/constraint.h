// Structured output: what a request demands of its answer, compiled, remembered and put into the
// form that Output follows.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "server/chat_constraint.h"
#include "server/output.h"
#include "server/text_tokens.h"
#include "server/tool_form.h"
#include "trine/status.h"
#include "trine/tokenizer.h"

namespace trine::server {

struct ConstraintSpec {
  enum class Content { kFree, kJsonObject, kJsonSchema, kGbnf };
  enum class ToolChoice { kNone, kAuto, kRequired };

  bool chat = true;      ///< XTML; else the whole text is the content
  bool thinking = true;  ///< the prompt ended with an open think channel
  Content content = Content::kFree;
  json::Value schema;  ///< kJsonSchema
  std::string gbnf;    ///< kGbnf
  /// kAuto: calls are narrowed once the model makes any, if a tool is strict or the content is not
  /// free; schemas of tools that are not strict are then followed as far as they are understood.
  /// kNone: no call can be made.
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::vector<ToolSpec> tools;  ///< that may be called: with a named choice, that one
  bool parallel_calls = true;
};

/// Thread-safe.
class ConstraintMaker {
 public:
  /// `end_ids`: what ends a plain text. The tokenizer must outlive it.
  ConstraintMaker(const Tokenizer& tokenizer, std::vector<int32_t> end_ids);

  /// Null when there is nothing to narrow. kInvalidArgument names the schema's place and keyword.
  Result<std::shared_ptr<Constraint>> make(const ConstraintSpec& spec);

 private:
  using Grammar = std::shared_ptr<const grammar::Grammar>;
  using Shape = std::shared_ptr<const ChatShape>;

  static Result<Grammar> content_grammar(const ConstraintSpec& spec);
  static Result<Shape> compile(const ConstraintSpec& spec);
  Result<Shape> remembered(const ConstraintSpec& spec);

  std::shared_ptr<const TextTokens> tokens_;
  std::vector<int32_t> end_ids_;
  std::mutex mutex_;
  std::list<std::pair<std::string, Shape>> shapes_;  // by what they were made of; newest first
};

}  // namespace trine::server
