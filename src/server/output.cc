// From generated tokens to what a client reads; see the header.
#include "server/output.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "server/stop_matcher.h"
#include "text/utf8.h"

namespace trine::server {

using Kind = OutputEvent::Kind;
using Parsed = ChatParser::Event;

struct Output::Impl {
  Impl(const Tokenizer& t, OutputOptions o)
      : tokenizer(&t),
        options(std::move(o)),
        message_ends{t.control_id("<|end_of_msg|>"), t.control_id("[EOT]"), t.control_id("[EOS]")},
        parser(t, options.thinking),
        stops(options.stop, options.include_stop) {
    TRINE_CHECK(!options.pieces || !options.chat);
  }

  const Tokenizer* tokenizer;
  OutputOptions options;
  std::vector<int32_t> message_ends;
  ChatParser parser;
  std::vector<Parsed> parsed;  // scratch
  Utf8Stream utf8;             // plain text
  StopMatcher stops;
  TokenPieces pieces;
  std::vector<TokenPiece> ready_pieces;
  bool ended = false;
  bool call_open = false;
  ParsedMessage message;
  std::vector<OutputEvent>* events = nullptr;

  bool is_message_end(int32_t id) const {
    return id >= 0 && std::find(message_ends.begin(), message_ends.end(), id) != message_ends.end();
  }
  bool is_end_id(int32_t id) const {
    return std::find(options.end_ids.begin(), options.end_ids.end(), id) != options.end_ids.end();
  }

  // ---- what goes out ----

  void emit_text(Kind kind, std::string text) {
    if (text.empty()) return;
    (kind == Kind::kReasoning ? message.reasoning : message.content) += text;
    if (kind == Kind::kContent) pieces.release(text.size(), &ready_pieces);
    OutputEvent event;
    event.kind = kind;
    event.text = std::move(text);
    events->push_back(std::move(event));
  }

  void emit_call(Kind kind, Parsed& from) {
    if (kind == Kind::kToolBegin) message.tool_calls.push_back({from.name, "", false});
    ToolCall& call = message.tool_calls.back();
    if (kind == Kind::kToolArguments) call.arguments += from.text;
    if (kind == Kind::kToolEnd) call.arguments_are_text = from.arguments_are_text;
    call_open = kind != Kind::kToolEnd;
    OutputEvent event;
    event.kind = kind;
    event.text = std::move(from.text);
    event.tool_index = from.tool_index;
    event.name = std::move(from.name);
    event.arguments_are_text = call.arguments_are_text;
    events->push_back(std::move(event));
  }

  void content(std::string_view text) {
    std::string certain;
    stops.push(text, &certain);
    emit_text(Kind::kContent, std::move(certain));
  }

  void flush_content() {
    std::string rest;
    stops.flush(&rest);
    emit_text(Kind::kContent, std::move(rest));
  }

  // After a stop string only a call that it stands in goes on, to its end.
  void relay(Parsed& event) {
    if (stops.stopped() && !call_open) return;
    switch (event.kind) {
      case Parsed::Kind::kContent: return content(event.text);
      case Parsed::Kind::kReasoning:
        if (stops.stopped()) return;
        flush_content();
        return emit_text(Kind::kReasoning, std::move(event.text));
      case Parsed::Kind::kToolCallBegin: flush_content(); return emit_call(Kind::kToolBegin, event);
      case Parsed::Kind::kToolArguments: return emit_call(Kind::kToolArguments, event);
      case Parsed::Kind::kToolCallEnd: return emit_call(Kind::kToolEnd, event);
      case Parsed::Kind::kEnd:
      case Parsed::Kind::kReasoningWasContent: return;
    }
  }

  void relay_all() {
    for (Parsed& event : parsed) relay(event);
    parsed.clear();
  }

  // ---- what comes in ----

  void take_chat(int32_t id) {
    parser.push(id, &parsed);
    relay_all();
    if (stops.stopped()) finish();
  }

  void take_plain(int32_t id) {
    std::string text;
    utf8.push(tokenizer->token_bytes(id), &text);
    if (options.pieces) pieces.push(id, text, !utf8.waits());
    content(text);
    if (stops.stopped()) finish();
  }

  void take(int32_t id) {
    const bool ends_message = is_message_end(id);
    if (!ends_message && !is_end_id(id)) return options.chat ? take_chat(id) : take_plain(id);
    if (options.pieces) pieces.push(id, "", !utf8.waits());
    if (ends_message && options.ignore_eos && !is_end_id(id))
      return pieces.release(0, &ready_pieces);
    if (ends_message && options.chat) parser.push(id, &parsed);
    relay_all();
    finish();
  }

  void finish() {
    if (options.chat) {
      parser.finish(&parsed);
      relay_all();
    } else {
      std::string rest;
      utf8.finish(&rest);
      pieces.extend(rest);
      content(rest);
    }
    flush_content();
    pieces.finish(&ready_pieces);
    ended = true;
  }
};

Output::Output(const Tokenizer& tokenizer, OutputOptions options)
    : impl_(std::make_unique<Impl>(tokenizer, std::move(options))) {}
Output::~Output() = default;

bool Output::mask(std::span<uint64_t> allowed) {
  return impl_->options.constraint != nullptr && impl_->options.constraint->mask(allowed);
}

bool Output::push(int32_t id, std::vector<OutputEvent>* events) {
  if (impl_->ended) return true;
  if (impl_->options.constraint != nullptr) impl_->options.constraint->accept(id);
  impl_->events = events;
  impl_->take(id);
  return impl_->ended;
}

void Output::finish(std::vector<OutputEvent>* events) {
  if (impl_->ended) return;
  impl_->events = events;
  impl_->finish();
}

bool Output::stopped_by_string() const { return impl_->stops.stopped(); }
const std::string& Output::stop_string() const { return impl_->stops.stop(); }
const std::string& Output::reasoning() const { return impl_->message.reasoning; }
const std::string& Output::content() const { return impl_->message.content; }
const std::vector<ToolCall>& Output::tool_calls() const { return impl_->message.tool_calls; }

std::vector<TokenPiece> Output::take_pieces() { return std::exchange(impl_->ready_pieces, {}); }

}  // namespace trine::server
