// Follows an answer in XTML (spec section 10) and says what may come next.
//
// Reasoning is any text. What may not be left open is the structure: where content or calls are
// demanded, the answer goes from the reasoning's close to the response, from there to the tools or
// to the end, and each part is forced; text between control tokens comes in any tokenisation. Where
// the model may choose whether to call a tool, nothing is narrowed before it opens the tools
// section.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/grammar.h"
#include "server/output.h"
#include "server/text_tokens.h"
#include "server/tool_form.h"

namespace trine::server {

struct ChatShape {
  enum class Tools { kForbidden, kAllowed, kRequired };
  /// Of the content; null = any text. Where tools are allowed it may be left out for calls.
  std::shared_ptr<const grammar::Grammar> content;
  Tools tools = Tools::kForbidden;
  std::vector<ToolForm> forms;
  bool parallel = true;  ///< more than one call
};

class ChatConstraint final : public Constraint {
 public:
  ChatConstraint(std::shared_ptr<const ChatShape> shape, std::shared_ptr<const TextTokens> tokens,
                 bool thinking);

  bool mask(std::span<uint64_t> allowed) override;
  void accept(int32_t id) override;

 private:
  enum class Place {
    kFree,  // nothing is demanded yet
    kThink,
    kAfterThink,
    kResponse,
    kAfterResponse,
    kTools,
    kCall,
    kValue,  // of an argument, or a <json> element
    kAfterTools,
    kAfterMessage,
    kDone
  };
  // A tag that has begun: one of these texts, then <|sep|>.
  struct Head {
    bool opens = true;
    std::vector<std::string> options;
    std::string text;

    /// The option that the text is; npos = none yet.
    size_t chosen() const;
  };

  const ToolForm& form() const { return shape_->forms[tool_]; }
  bool may_open() const;
  bool may_close() const;
  std::vector<std::string> open_options() const;
  std::string close_option() const;
  bool given(size_t property) const { return given_[property]; }
  bool leaves_content_out() const;

  void mask_head(std::span<uint64_t> allowed) const;
  void mask_text(std::span<uint64_t> allowed);
  bool take_text(int32_t id);
  bool take_control(int32_t id);
  void opened(size_t option);
  void closed();

  std::shared_ptr<const ChatShape> shape_;
  std::shared_ptr<const TextTokens> tokens_;
  int32_t open_, close_, sep_, end_of_msg_;
  Place place_;
  std::optional<Head> head_;
  std::optional<grammar::Matcher> matcher_;  // of the content or the value
  bool response_empty_ = true;
  bool must_call_ = false;  // the content was left out
  size_t calls_ = 0;
  size_t tool_ = 0;          // that is called
  std::vector<bool> given_;  // its properties; for a <json> element: the one
};

}  // namespace trine::server
