// Writes a prompt segment by segment (spec section 10): structure as control ids, everything else
// encoded on its own and never as a control token.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trine/chat.h"
#include "trine/status.h"
#include "trine/tokenizer.h"

namespace trine {

/// The control tokens that XTML is made of.
struct XtmlTokens {
  int32_t open = -1;
  int32_t close = -1;
  int32_t sep = -1;
  int32_t end_of_msg = -1;

  static XtmlTokens of(const Tokenizer& tokenizer);
};

class PromptBuilder {
 public:
  using Attributes = std::vector<std::pair<std::string_view, std::string>>;

  /// kUnsupported when the tokenizer lacks one of the tokens (Kimi-Linear has another chat format).
  static Result<PromptBuilder> make(const Tokenizer& tokenizer);

  void open(std::string_view tag, const Attributes& attributes = {});
  void close(std::string_view tag);
  void end_of_message() { control(tokens_.end_of_msg); }
  /// Ordinary text, whatever it spells.
  void text(std::string_view text);
  /// Text in which spelled control tokens are meant: image prompts.
  void markup(std::string_view text);

  RenderedPrompt take() { return std::move(prompt_); }

 private:
  PromptBuilder(const Tokenizer& tokenizer, XtmlTokens tokens)
      : tokenizer_(&tokenizer), tokens_(tokens) {}
  void control(int32_t id);
  void encode(std::string_view text, bool special);

  const Tokenizer* tokenizer_;
  XtmlTokens tokens_;
  RenderedPrompt prompt_;
};

}  // namespace trine
