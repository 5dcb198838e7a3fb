// Segments of a prompt; see the header.
#include "text/prompt_builder.h"

namespace trine {
namespace {

constexpr std::string_view kOpen = "<|open|>";
constexpr std::string_view kClose = "<|close|>";
constexpr std::string_view kSep = "<|sep|>";
constexpr std::string_view kEndOfMsg = "<|end_of_msg|>";

// `&` first, then `"`, and nothing else.
std::string escape_attribute(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace

XtmlTokens XtmlTokens::of(const Tokenizer& tokenizer) {
  return {tokenizer.control_id(kOpen), tokenizer.control_id(kClose), tokenizer.control_id(kSep),
          tokenizer.control_id(kEndOfMsg)};
}

Result<PromptBuilder> PromptBuilder::make(const Tokenizer& tokenizer) {
  const XtmlTokens tokens = XtmlTokens::of(tokenizer);
  for (const auto& [id, spelling] :
       {std::pair(tokens.open, kOpen), std::pair(tokens.close, kClose), std::pair(tokens.sep, kSep),
        std::pair(tokens.end_of_msg, kEndOfMsg)})
    if (id < 0)
      return Status(Code::kUnsupported,
                    "this tokenizer has no control token " + std::string(spelling) +
                        ", so its model was not trained on the XTML chat format; "
                        "continue raw text instead ('trine run --raw')");
  return PromptBuilder(tokenizer, tokens);
}

void PromptBuilder::control(int32_t id) {
  prompt_.text += tokenizer_->token_bytes(id);
  prompt_.ids.push_back(id);
}

void PromptBuilder::encode(std::string_view text, bool special) {
  const std::vector<int32_t> ids = tokenizer_->encode(text, special);
  prompt_.text += text;
  prompt_.ids.insert(prompt_.ids.end(), ids.begin(), ids.end());
}

void PromptBuilder::text(std::string_view text) { encode(text, false); }

void PromptBuilder::markup(std::string_view text) { encode(text, true); }

void PromptBuilder::open(std::string_view tag, const Attributes& attributes) {
  control(tokens_.open);
  text(tag);
  for (const auto& [key, value] : attributes) {
    text(" " + std::string(key));
    text("=\"");
    text(escape_attribute(value));
    text("\"");
  }
  control(tokens_.sep);
}

void PromptBuilder::close(std::string_view tag) {
  control(tokens_.close);
  text(tag);
  control(tokens_.sep);
}

}  // namespace trine
