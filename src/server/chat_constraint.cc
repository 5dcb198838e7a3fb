// XTML as masks; see the header.
#include "server/chat_constraint.h"

#include <algorithm>
#include <utility>

namespace trine::server {
namespace {

constexpr const char* kJsonHead = "json type=\"object\"";

}  // namespace

ChatConstraint::ChatConstraint(std::shared_ptr<const ChatShape> shape,
                               std::shared_ptr<const TextTokens> tokens, bool thinking)
    : shape_(std::move(shape)),
      tokens_(std::move(tokens)),
      open_(tokens_->tokenizer().control_id("<|open|>")),
      close_(tokens_->tokenizer().control_id("<|close|>")),
      sep_(tokens_->tokenizer().control_id("<|sep|>")),
      end_of_msg_(tokens_->tokenizer().control_id("<|end_of_msg|>")),
      place_(thinking ? Place::kThink : Place::kResponse) {
  if (shape_->content != nullptr)
    matcher_.emplace(shape_->content, tokens_->table());
  else if (shape_->tools != ChatShape::Tools::kRequired)
    place_ = Place::kFree;
}

size_t ChatConstraint::Head::chosen() const {
  const auto found = std::find(options.begin(), options.end(), text);
  return found == options.end() ? std::string::npos : static_cast<size_t>(found - options.begin());
}

// ---- what may come ----

bool ChatConstraint::leaves_content_out() const {
  return shape_->content != nullptr && response_empty_ && !matcher_->can_end();
}

bool ChatConstraint::may_open() const {
  switch (place_) {
    case Place::kFree:
    case Place::kAfterThink: return true;
    case Place::kAfterResponse: return shape_->tools != ChatShape::Tools::kForbidden;
    case Place::kTools: return calls_ == 0 || shape_->parallel;
    case Place::kCall: return !open_options().empty();
    default: return false;
  }
}

bool ChatConstraint::may_close() const {
  switch (place_) {
    case Place::kThink:
    case Place::kAfterTools: return true;
    case Place::kResponse:
      if (shape_->content == nullptr || matcher_->can_end()) return true;
      return response_empty_ && shape_->tools != ChatShape::Tools::kForbidden;
    case Place::kAfterResponse: return !must_call_ && shape_->tools != ChatShape::Tools::kRequired;
    case Place::kTools: return calls_ > 0;
    case Place::kCall:
      if (form().json != nullptr) return given(0);
      for (size_t i = 0; i < form().required.size(); ++i)
        if (form().required[i] && !given(i)) return false;
      return true;
    case Place::kValue: return matcher_->can_end();
    default: return false;
  }
}

std::vector<std::string> ChatConstraint::open_options() const {
  switch (place_) {
    case Place::kFree:
      if (shape_->tools == ChatShape::Tools::kForbidden) return {"think", "response"};
      return {"think", "response", "tools"};
    case Place::kAfterThink: return {"response"};
    case Place::kAfterResponse: return {"tools"};
    case Place::kTools: {
      std::vector<std::string> out;
      for (const ToolForm& tool : shape_->forms)
        out.push_back(tool.head + std::to_string(calls_ + 1) + "\"");
      return out;
    }
    case Place::kCall: {
      std::vector<std::string> out;
      if (form().json != nullptr && !given(0)) out.emplace_back(kJsonHead);
      for (const ArgumentForm& argument : form().arguments)
        if (!given(argument.property)) out.push_back(argument.head);
      return out;
    }
    default: return {};
  }
}

std::string ChatConstraint::close_option() const {
  switch (place_) {
    case Place::kThink: return "think";
    case Place::kResponse: return "response";
    case Place::kTools: return "tools";
    case Place::kCall: return "call";
    case Place::kValue: return form().json != nullptr ? "json" : "argument";
    default: return "message";
  }
}

bool ChatConstraint::mask(std::span<uint64_t> allowed) {
  if (place_ == Place::kDone || (place_ == Place::kFree && !head_)) return false;
  std::fill(allowed.begin(), allowed.end(), 0);
  if (head_) {
    mask_head(allowed);
    return true;
  }
  mask_text(allowed);
  if (may_open()) set_bit(allowed, open_);
  if (may_close()) set_bit(allowed, close_);
  if (place_ == Place::kAfterMessage) set_bit(allowed, end_of_msg_);
  return true;
}

void ChatConstraint::mask_head(std::span<uint64_t> allowed) const {
  for (const std::string& option : head_->options)
    if (option.starts_with(head_->text))
      tokens_->add_beginnings(std::string_view(option).substr(head_->text.size()), allowed);
  if (head_->chosen() != std::string::npos) set_bit(allowed, sep_);
}

void ChatConstraint::mask_text(std::span<uint64_t> allowed) {
  const bool content = place_ == Place::kResponse && shape_->content != nullptr;
  if (content || place_ == Place::kValue) {
    // What cannot be followed ends the request: no token is left.
    if (!matcher_->fill_mask(allowed).ok()) std::fill(allowed.begin(), allowed.end(), 0);
  } else if (place_ == Place::kThink || place_ == Place::kResponse) {
    tokens_->fill(allowed);
  }
}

// ---- what came ----

void ChatConstraint::accept(int32_t id) {
  if (place_ == Place::kDone) return;
  const bool control = tokens_->tokenizer().is_control(id);
  if (!(control ? take_control(id) : take_text(id))) {
    head_.reset();
    place_ = Place::kDone;
  }
}

bool ChatConstraint::take_text(int32_t id) {
  if (head_) {
    head_->text += tokens_->tokenizer().token_bytes(id);
    return std::any_of(head_->options.begin(), head_->options.end(),
                       [&](const std::string& o) { return o.starts_with(head_->text); });
  }
  switch (place_) {
    case Place::kFree:
    case Place::kThink: return true;
    case Place::kResponse:
      response_empty_ = false;
      return shape_->content == nullptr || matcher_->accept(id).ok();
    case Place::kValue: return matcher_->accept(id).ok();
    default: return false;
  }
}

bool ChatConstraint::take_control(int32_t id) {
  if (head_) {
    const size_t option = head_->chosen();
    if (id != sep_ || option == std::string::npos) return false;
    const bool opens = head_->opens;
    head_.reset();
    if (opens)
      opened(option);
    else
      closed();
    return true;
  }
  if (id == open_ && may_open()) {
    head_ = Head{true, open_options(), ""};
    return true;
  }
  if (place_ == Place::kFree) return id != end_of_msg_;
  if (id != close_ || !may_close()) return false;
  head_ = Head{false, {close_option()}, ""};
  return true;
}

void ChatConstraint::opened(size_t option) {
  switch (place_) {
    case Place::kFree:
      if (option == 2) place_ = Place::kTools;
      return;
    case Place::kAfterThink: place_ = Place::kResponse; return;
    case Place::kAfterResponse: place_ = Place::kTools; return;
    case Place::kTools:
      place_ = Place::kCall;
      ++calls_;
      tool_ = option;
      given_.assign(std::max<size_t>(form().required.size(), 1), false);
      return;
    case Place::kCall: {
      place_ = Place::kValue;
      if (form().json != nullptr) {
        given_[0] = true;
        matcher_.emplace(form().json, tokens_->table());
        return;
      }
      // The option was counted among the arguments that were not given yet.
      for (const ArgumentForm& argument : form().arguments) {
        if (given(argument.property) || option-- > 0) continue;
        given_[argument.property] = true;
        matcher_.emplace(argument.value, tokens_->table());
        return;
      }
      return;
    }
    default: return;
  }
}

void ChatConstraint::closed() {
  switch (place_) {
    case Place::kThink: place_ = Place::kAfterThink; return;
    case Place::kResponse:
      must_call_ = leaves_content_out();
      place_ = Place::kAfterResponse;
      return;
    case Place::kTools: place_ = Place::kAfterTools; return;
    case Place::kCall: place_ = Place::kTools; return;
    case Place::kValue: place_ = Place::kCall; return;
    default: place_ = Place::kAfterMessage; return;
  }
}

}  // namespace trine::server
