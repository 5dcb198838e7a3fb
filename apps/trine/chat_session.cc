// Keeping a conversation's state.
#include "chat_session.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace trine::cli {
namespace {

struct Markup {
  int32_t open, close, sep, eom;
  explicit Markup(const Tokenizer& tokenizer)
      : open(tokenizer.control_id("<|open|>")),
        close(tokenizer.control_id("<|close|>")),
        sep(tokenizer.control_id("<|sep|>")),
        eom(tokenizer.control_id("<|end_of_msg|>")) {}
};

// What ends an answer, in order (spec section 10): </think> <response> </response> </message> eom.
enum Step { kCloseThink, kOpenResponse, kCloseResponse, kCloseMessage, kEndOfMessage, kNowhere };

// The first step that is still to come after `generated`.
Step next_step(const Tokenizer& tokenizer, const Markup& markup,
               const std::vector<int32_t>& generated, bool thinking) {
  const auto is_markup = [&](int32_t id) {
    return id == markup.open || id == markup.close || id == markup.sep || id == markup.eom;
  };
  const auto last = std::find_if(generated.rbegin(), generated.rend(), is_markup);
  if (last == generated.rend()) return thinking ? kCloseThink : kCloseResponse;
  if (*last != markup.sep) return kNowhere;
  const auto tag_begin = std::find_if(last + 1, generated.rend(), is_markup);
  if (tag_begin == generated.rend()) return kNowhere;
  const Result<std::string> tag =
      tokenizer.decode(std::vector<int32_t>(tag_begin.base(), last.base() - 1));
  if (!tag.ok()) return kNowhere;
  const bool at_end = last == generated.rbegin();
  if (*tag_begin == markup.open) {
    if (*tag == "think") return kCloseThink;
    return *tag == "response" ? kCloseResponse : kNowhere;
  }
  if (!at_end) return kNowhere;  // text between channels: not the format
  if (*tag == "think") return kOpenResponse;
  if (*tag == "response" || *tag == "tools") return kCloseMessage;
  return *tag == "message" ? kEndOfMessage : kNowhere;
}

}  // namespace

std::vector<int32_t> closing_ids(const Tokenizer& tokenizer, const std::vector<int32_t>& generated,
                                 bool thinking) {
  const Markup markup(tokenizer);
  struct Tag {
    int32_t kind;
    std::string_view name;
  };
  const std::array<Tag, 4> tags{{{markup.close, "think"},
                                 {markup.open, "response"},
                                 {markup.close, "response"},
                                 {markup.close, "message"}}};
  std::vector<int32_t> ids;
  const Step from = next_step(tokenizer, markup, generated, thinking);
  if (from == kNowhere) return ids;
  for (size_t step = from; step < tags.size(); ++step) {
    ids.push_back(tags[step].kind);
    const std::vector<int32_t> name = tokenizer.encode(tags[step].name);
    ids.insert(ids.end(), name.begin(), name.end());
    ids.push_back(markup.sep);
  }
  ids.push_back(markup.eom);
  return ids;
}

Result<std::vector<int32_t>> ChatSession::next_prompt(const Conversation& conversation) {
  Result<RenderedPrompt> full = conversation.prompt(*tokenizer_);
  if (!full.ok()) return full.status();
  std::vector<int32_t>& ids = full->ids;
  const bool continues = !held_.empty() && ids.size() > held_.size() &&
                         std::equal(held_.begin(), held_.end(), ids.begin());
  if (!continues) {
    held_.clear();
    sequence_.reset();
    reused_ = 0;
    return std::move(ids);
  }
  reused_ = sequence_.position();
  std::vector<int32_t> added = pending_;
  added.insert(added.end(), ids.begin() + static_cast<std::ptrdiff_t>(held_.size()), ids.end());
  return added;
}

void ChatSession::answered(const Conversation& conversation, const Generation& generation) {
  held_.clear();
  pending_.clear();
  if (generation.ids.empty()) return;
  // The sequence holds every generated id but the last.
  std::vector<int32_t> generated = generation.ids;
  const int32_t last = generated.back();
  if (generation.finish == FinishReason::kStop) {
    generated.pop_back();
  } else {
    pending_.push_back(last);
  }
  if (generation.finish == FinishReason::kStop && last == Markup(*tokenizer_).eom) {
    pending_.push_back(last);
  } else {
    const std::vector<int32_t> closing =
        closing_ids(*tokenizer_, generated, conversation.thinking());
    if (closing.empty()) return;
    pending_.insert(pending_.end(), closing.begin(), closing.end());
  }
  Result<RenderedPrompt> rendered = render_chat(*tokenizer_, conversation.request(false));
  if (rendered.ok()) held_ = std::move(rendered->ids);
}

}  // namespace trine::cli
