// Streaming parser of generated XTML (spec section 10).
//
// Structure is made of control ids only, so text can never end an element. What a model may get
// wrong is recovered so that no text is lost:
// - a missing close is implied by whatever comes next; the end of the message implies all of them;
// - an element that has no meaning where it stands is text: its head, then its body;
// - text outside every element is content (blanks between elements are not);
// - text directly inside a call that has no arguments yet is taken for its <json> element;
// - <|close|>response where reasoning was never closed: what looked like reasoning was the answer;
// - a call that the output stops in keeps its arguments as text, so that nobody executes half a
// call.
#include <utility>

#include "text/call_arguments.h"
#include "text/prompt_builder.h"
#include "text/tag.h"
#include "text/utf8.h"
#include "trine/chat.h"

namespace trine {
namespace {

constexpr size_t kHeadBytesMax = size_t{64} << 10;

using Event = ChatParser::Event;
using Kind = Event::Kind;

}  // namespace

struct ChatParser::Impl {
  enum class Place { kThink, kResponse, kOutside, kTools, kCall, kArgument, kJson };
  enum class Head { kNone, kOpen, kClose };

  Impl(const Tokenizer& t, bool thinking)
      : tokenizer(&t),
        tokens(XtmlTokens::of(t)),
        eot(t.control_id("[EOT]")),
        eos(t.control_id("[EOS]")),
        place(thinking ? Place::kThink : Place::kResponse),
        think_is_assumed(thinking) {}

  const Tokenizer* tokenizer;
  XtmlTokens tokens;
  int32_t eot;
  int32_t eos;
  Place place;
  bool think_is_assumed;      // the prompt opened <think>, the model has not touched it
  bool tools_closed = false;  // a call after that is text
  bool loose_text = false;    // text outside the elements has begun
  bool ended = false;
  Head head = Head::kNone;  // within a tag
  std::string head_text;
  std::string blanks;  // outside the elements, not yet known to belong to text
  Utf8Stream utf8;
  CallArguments arguments;
  ParsedMessage message;
  std::vector<Event>* events = nullptr;

  // ---- what goes out ----

  void emit(Kind kind, std::string text) {
    if (text.empty() &&
        (kind == Kind::kReasoning || kind == Kind::kContent || kind == Kind::kToolArguments))
      return;
    if (kind == Kind::kReasoning) message.reasoning += text;
    if (kind == Kind::kContent) message.content += text;
    if (kind == Kind::kToolArguments) message.tool_calls.back().arguments += text;
    if (kind == Kind::kReasoningWasContent) message.reasoning.clear();
    Event event;
    event.kind = kind;
    event.text = std::move(text);
    if (kind == Kind::kToolCallBegin || kind == Kind::kToolArguments ||
        kind == Kind::kToolCallEnd) {
      event.tool_index = static_cast<int>(message.tool_calls.size()) - 1;
      event.name = message.tool_calls.back().name;
      event.arguments_are_text = message.tool_calls.back().arguments_are_text;
    }
    events->push_back(std::move(event));
  }

  // Whole characters for the place we are in.
  void put_text(const std::string& text) {
    switch (place) {
      case Place::kThink: return emit(Kind::kReasoning, text);
      case Place::kResponse: return emit(Kind::kContent, text);
      case Place::kArgument: return emit(Kind::kToolArguments, arguments.value(text));
      case Place::kJson: return emit(Kind::kToolArguments, arguments.json(text));
      case Place::kOutside:
      case Place::kTools:
      case Place::kCall: break;
    }
    blanks += text;
    if (!loose_text && is_blank(text)) return;
    const std::string all = std::exchange(blanks, "");
    if (place == Place::kCall && arguments.untouched()) {
      arguments.begin_json();
      place = Place::kJson;
      return put_text(all);
    }
    loose_text = true;
    emit(Kind::kContent, all);
  }

  // ---- elements ----

  bool in_call() const {
    return place == Place::kCall || place == Place::kArgument || place == Place::kJson;
  }

  void begin_call(const Tag& tag) {
    message.tool_calls.push_back({tag.attribute("tool"), "", false});
    arguments = CallArguments();
    place = Place::kCall;
    emit(Kind::kToolCallBegin, "");
  }

  void end_argument() {
    if (place != Place::kArgument) return;
    emit(Kind::kToolArguments, arguments.end_argument());
    place = Place::kCall;
  }

  void end_call() {
    if (!in_call()) return;
    end_argument();
    bool are_text = false;
    const std::string rest = arguments.end(&are_text);
    emit(Kind::kToolArguments, rest);
    message.tool_calls.back().arguments_are_text = are_text;
    emit(Kind::kToolCallEnd, "");
    place = Place::kTools;
  }

  void cut_call() {
    if (!in_call()) return;
    emit(Kind::kToolArguments, arguments.cut_off());
    message.tool_calls.back().arguments_are_text = true;
    emit(Kind::kToolCallEnd, "");
    place = Place::kTools;
  }

  void enter(Place next) {
    end_call();
    place = next;
  }

  // False: this element has no meaning here.
  bool open(const Tag& tag) {
    switch (tag.name) {
      case Tag::Name::kThink:
        think_is_assumed = false;
        enter(Place::kThink);
        return true;
      case Tag::Name::kResponse: enter(Place::kResponse); return true;
      case Tag::Name::kTools: enter(Place::kTools); return true;
      case Tag::Name::kMessage: enter(Place::kOutside); return true;
      case Tag::Name::kCall:
        if (place != Place::kTools && !in_call() && tools_closed) return false;
        end_call();
        begin_call(tag);
        return true;
      case Tag::Name::kArgument:
        if (!in_call() || !arguments.accepts_argument()) return false;
        end_argument();
        emit(Kind::kToolArguments,
             arguments.begin_argument(tag.attribute("key"), tag.attribute("type")));
        place = Place::kArgument;
        return true;
      case Tag::Name::kJson:
        if (place != Place::kCall || !arguments.untouched()) return false;
        arguments.begin_json();
        place = Place::kJson;
        return true;
    }
    return false;
  }

  void close(const Tag& tag) {
    switch (tag.name) {
      case Tag::Name::kThink:
        if (place != Place::kThink) return;
        think_is_assumed = false;
        place = Place::kOutside;
        return;
      case Tag::Name::kResponse:
        if (place == Place::kThink && think_is_assumed) {
          std::string answer = message.reasoning;
          emit(Kind::kReasoningWasContent, "");
          emit(Kind::kContent, std::move(answer));
          think_is_assumed = false;
          place = Place::kOutside;
        }
        if (place == Place::kResponse) place = Place::kOutside;
        return;
      case Tag::Name::kTools:
        if (place != Place::kTools && !in_call()) return;
        enter(Place::kOutside);
        tools_closed = true;
        return;
      case Tag::Name::kCall: return end_call();
      case Tag::Name::kArgument: return end_argument();
      case Tag::Name::kJson:
        if (place == Place::kJson) place = Place::kCall;
        return;
      case Tag::Name::kMessage: return enter(Place::kOutside);
    }
  }

  // ---- what comes in ----

  // A character that was begun cannot go on across a control token.
  void end_text() {
    std::string rest;
    utf8.finish(&rest);
    if (!rest.empty()) put_text(rest);
  }

  void end_head() {
    const Head kind = std::exchange(head, Head::kNone);
    if (kind == Head::kNone) return;
    const std::string text = replace_invalid_utf8(std::exchange(head_text, ""));
    const std::optional<Tag> tag = Tag::parse(text);
    if (tag && kind == Head::kClose) {
      close(*tag);
    } else if (!tag || !open(*tag)) {
      if (!text.empty()) put_text(text);
      return;
    }
    blanks.clear();
    loose_text = false;
  }

  void end_message() {
    // A value that the model itself left open is as incomplete as one that was cut.
    if (place == Place::kArgument || place == Place::kJson) cut_call();
    enter(Place::kOutside);
    ended = true;
    emit(Kind::kEnd, "");
  }

  void control(int32_t id) {
    end_text();
    if (id == tokens.open || id == tokens.close) {
      end_head();
      head = id == tokens.open ? Head::kOpen : Head::kClose;
    } else if (id == tokens.sep) {
      end_head();
    } else if (id == tokens.end_of_msg || id == eot || id == eos) {
      end_head();
      end_message();
    }
  }

  void bytes(std::string_view piece) {
    if (head == Head::kNone) {
      std::string text;
      utf8.push(piece, &text);
      if (!text.empty()) put_text(text);
      return;
    }
    head_text += piece;
    if (head_text.size() <= kHeadBytesMax) return;
    head = Head::kNone;
    bytes(std::exchange(head_text, ""));
  }

  void finish() {
    end_text();
    if (head != Head::kNone && !Tag::may_begin(head_text)) end_head();
    head = Head::kNone;
    head_text.clear();
    cut_call();
  }
};

ChatParser::ChatParser(const Tokenizer& tokenizer, bool thinking)
    : impl_(std::make_unique<Impl>(tokenizer, thinking)) {}
ChatParser::~ChatParser() = default;
ChatParser::ChatParser(ChatParser&&) noexcept = default;
ChatParser& ChatParser::operator=(ChatParser&&) noexcept = default;

void ChatParser::push(int32_t id, std::vector<Event>* events) {
  if (impl_->ended) return;
  impl_->events = events;
  if (impl_->tokenizer->is_control(id))
    impl_->control(id);
  else
    impl_->bytes(impl_->tokenizer->token_bytes(id));
}

void ChatParser::finish(std::vector<Event>* events) {
  if (impl_->ended) return;
  impl_->events = events;
  impl_->finish();
}

bool ChatParser::ended() const { return impl_->ended; }

const ParsedMessage& ChatParser::message() const { return impl_->message; }

ParsedMessage parse_chat(const Tokenizer& tokenizer, std::span<const int32_t> ids, bool thinking) {
  ChatParser parser(tokenizer, thinking);
  std::vector<ChatParser::Event> events;
  for (const int32_t id : ids) {
    parser.push(id, &events);
    events.clear();
  }
  parser.finish(&events);
  return parser.message();
}

}  // namespace trine
