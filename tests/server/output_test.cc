// What a client reads: events that put together are the whole answer, stop strings that never leak,
// whole characters, and pieces of tokens that are the text.
#include "server/output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "server/stop_matcher.h"
#include "text/fixtures.h"
#include "text/utf8.h"

namespace trine::server {
namespace {

using Kind = OutputEvent::Kind;

const Tokenizer& tokenizer() { return test::golden_tokenizer(); }

std::vector<int32_t> marked_up(const std::string& text) { return tokenizer().encode(text, true); }

// Ordinary bytes as tokens of their own: the same text, cut everywhere.
std::vector<int32_t> byte_by_byte(const std::vector<int32_t>& ids) {
  std::vector<int32_t> out;
  for (const int32_t id : ids) {
    if (tokenizer().is_control(id)) {
      out.push_back(id);
      continue;
    }
    for (const char c : tokenizer().token_bytes(id))
      out.push_back(tokenizer().encode(std::string_view(&c, 1))[0]);
  }
  return out;
}

ParsedMessage folded(const std::vector<OutputEvent>& events) {
  ParsedMessage m;
  for (const OutputEvent& e : events) {
    if (e.kind == Kind::kReasoning) m.reasoning += e.text;
    if (e.kind == Kind::kContent) m.content += e.text;
    if (e.kind == Kind::kToolBegin) {
      EXPECT_EQ(static_cast<size_t>(e.tool_index), m.tool_calls.size());
      m.tool_calls.push_back({e.name, "", false});
    }
    if (e.kind == Kind::kToolArguments) m.tool_calls.back().arguments += e.text;
    if (e.kind == Kind::kToolEnd) m.tool_calls.back().arguments_are_text = e.arguments_are_text;
    EXPECT_EQ(replace_invalid_utf8(e.text), e.text) << "whole characters only";
    const bool is_text = e.kind == Kind::kReasoning || e.kind == Kind::kContent;
    EXPECT_TRUE(!is_text || !e.text.empty());
  }
  return m;
}

std::string shown(const ParsedMessage& m) {
  std::string out = "reasoning=" + json::quote(m.reasoning) + " content=" + json::quote(m.content);
  for (const ToolCall& c : m.tool_calls)
    out += " " + c.name + (c.arguments_are_text ? "?" : "") + "(" + c.arguments + ")";
  return out;
}

struct Ran {
  std::vector<OutputEvent> events;
  ParsedMessage message;
  std::vector<TokenPiece> pieces;
  size_t pushed = 0;
  bool ended = false;  // by itself
  std::string stop;
};

Ran run(const std::vector<int32_t>& ids, const OutputOptions& options) {
  Output output(tokenizer(), options);
  Ran r;
  const auto collect = [&] {
    for (TokenPiece& piece : output.take_pieces()) r.pieces.push_back(std::move(piece));
    // At every moment, not only at the end.
    const ParsedMessage so_far{output.reasoning(), output.content(), output.tool_calls()};
    EXPECT_EQ(shown(folded(r.events)), shown(so_far));
  };
  for (const int32_t id : ids) {
    r.ended = output.push(id, &r.events);
    ++r.pushed;
    if (r.pushed % 7 == 0 || r.ended) collect();
    if (r.ended) break;
  }
  output.finish(&r.events);
  collect();
  const size_t events = r.events.size();
  output.finish(&r.events);
  EXPECT_EQ(output.push(ids.empty() ? 1 : ids[0], &r.events), true);
  EXPECT_EQ(r.events.size(), events) << "nothing after the end";
  r.message = {output.reasoning(), output.content(), output.tool_calls()};
  r.stop = output.stop_string();
  EXPECT_EQ(output.stopped_by_string(), !r.stop.empty());
  return r;
}

std::string answer(const std::string& text, const OutputOptions& options = {}) {
  std::string whole = shown(run(marked_up(text), options).message);
  EXPECT_EQ(shown(run(byte_by_byte(marked_up(text)), options).message), whole) << text;
  return whole;
}

OutputOptions stopping_at(std::vector<std::string> stop) {
  OutputOptions options;
  options.stop = std::move(stop);
  return options;
}

// The first end of a stop string in a whole text, looked up in the plainest way.
std::pair<size_t, std::string> first_stop(const std::string& text,
                                          const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    std::string longest;
    for (const std::string& stop : stops)
      if (text.substr(0, end).ends_with(stop) && stop.size() > longest.size()) longest = stop;
    if (!longest.empty()) return {end - longest.size(), longest};
  }
  return {std::string::npos, ""};
}

constexpr const char* kThink = "<|close|>think<|sep|>";
constexpr const char* kResponse = "<|open|>response<|sep|>";
constexpr const char* kEnd = "<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>";

TEST(Output, PartsOfAnAnswerAreKeptApart) {
  EXPECT_EQ(answer("why" + std::string(kThink) + kResponse + "because" + kEnd),
            R"(reasoning="why" content="because")");
  OutputOptions options;
  options.thinking = false;
  EXPECT_EQ(answer("because" + std::string(kEnd), options), R"(reasoning="" content="because")");
  EXPECT_EQ(answer("w<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\""
                   "<|sep|><|open|>argument key=\"k\" type=\"string\"<|sep|>v<|close|>argument"
                   "<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|end_of_msg|>"),
            R"(reasoning="w" content="" f({"k":"v"}))");
}

TEST(Output, AnAnswerWithoutThinkingIsContentToo) {
  EXPECT_EQ(answer("4" + std::string(kEnd)), R"(reasoning="4" content="4")");
  EXPECT_EQ(answer("4 stop 5" + std::string(kEnd), stopping_at({"stop"})),
            R"(reasoning="4 stop 5" content="4 ")");
  EXPECT_EQ(answer("cut off"), R"(reasoning="cut off" content="")");
}

TEST(Output, StopStringsCountInTheContentOnly) {
  const OutputOptions options = stopping_at({"END"});
  EXPECT_EQ(answer("an END" + std::string(kThink) + kResponse + "abcENDdef" + kEnd, options),
            R"(reasoning="an END" content="abc")");
  EXPECT_EQ(answer("w<|close|>think<|sep|><|open|>response<|sep|>E<|close|>response<|sep|><|open|>"
                   "tools<|sep|><|open|>call tool=\"END\" index=\"1\"<|sep|><|open|>argument "
                   "key=\"END\" type=\"string\"<|sep|>END<|close|>argument<|sep|><|close|>call"
                   "<|sep|><|close|>tools<|sep|>",
                   options),
            R"(reasoning="w" content="E" END({"END":"END"}))");
}

TEST(Output, AStopStringThatSpellsAMarkerIsFoundInTextOnly) {
  const OutputOptions options = stopping_at({"<|close|>response<|sep|>"});
  const std::string head = std::string(kThink) + kResponse;
  EXPECT_EQ(answer(head + "a" + kEnd, options), R"(reasoning="" content="a")");
  std::vector<int32_t> ids = marked_up(head + "a");
  for (const int32_t id : tokenizer().encode("<|close|>response<|sep|>b")) ids.push_back(id);
  const Ran spelled = run(ids, options);
  EXPECT_EQ(spelled.message.content, "a");
  EXPECT_EQ(spelled.stop, options.stop[0]);
}

TEST(Output, TheFirstCompleteStopStringEndsTheAnswer) {
  const std::string head = std::string(kThink) + kResponse;
  EXPECT_EQ(answer(head + "xabcd", stopping_at({"abcd", "bc"})), R"(reasoning="" content="xa")");
  EXPECT_EQ(answer(head + "xabc", stopping_at({"bc", "abc"})), R"(reasoning="" content="x")");
  EXPECT_EQ(answer(head + "aabaabaac", stopping_at({"aabaac"})), R"(reasoning="" content="aab")");
  EXPECT_EQ(answer(head + "one\ntwo", stopping_at({"\n"})), R"(reasoning="" content="one")");
  EXPECT_EQ(answer(head + "\xE2\x82\xAC 5 \xE2\x82\xAC", stopping_at({" \xE2\x82\xAC"})),
            "reasoning=\"\" content=\"\xE2\x82\xAC 5\"");
  OutputOptions including = stopping_at({"two"});
  including.include_stop = true;
  EXPECT_EQ(answer(head + "one two three", including), R"(reasoning="" content="one two")");
}

TEST(Output, AStopEndsTheAnswerAtOnceAndSaysWhich) {
  const std::string text = std::string(kThink) + kResponse + "a stop b stop";
  const Ran r = run(byte_by_byte(marked_up(text)), stopping_at({"nowhere", "stop"}));
  EXPECT_TRUE(r.ended);
  EXPECT_EQ(r.stop, "stop");
  const std::string until = std::string(kThink) + kResponse + "a stop";
  EXPECT_EQ(r.pushed, byte_by_byte(marked_up(until)).size());
}

TEST(Output, WhatBeginsAStopStringWaitsAndComesWhenItIsNone) {
  Output output(tokenizer(), [] {
    OutputOptions options;
    options.chat = false;
    options.stop = {"stop"};
    return options;
  }());
  const auto push = [&](const std::string& text) {
    std::vector<OutputEvent> events;
    for (const int32_t id : byte_by_byte(tokenizer().encode(text))) output.push(id, &events);
    return folded(events).content;
  };
  EXPECT_EQ(push("a st"), "a ");
  EXPECT_EQ(push("s"), "st");
  EXPECT_EQ(push("to"), "");
  std::vector<OutputEvent> events;
  output.finish(&events);
  EXPECT_EQ(folded(events).content, "sto");
  EXPECT_FALSE(output.stopped_by_string());
}

TEST(Output, ContentComesBeforeTheCallThatFollowsIt) {
  const std::string text =
      std::string(kThink) + kResponse +
      "so st<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>"
      "<|close|>call<|sep|><|close|>tools<|sep|>op and on";
  const Ran r = run(marked_up(text), stopping_at({"stop"}));
  EXPECT_EQ(shown(r.message), R"(reasoning="" content="so st" f({}))");
  EXPECT_EQ(r.stop, "stop") << "begun before the call, complete after it";
  const auto call = std::find_if(r.events.begin(), r.events.end(),
                                 [](const OutputEvent& e) { return e.kind == Kind::kToolBegin; });
  EXPECT_EQ(folded({r.events.begin(), call}).content, "so st");
}

TEST(Output, ACallThatAStopStringStandsInIsClosed) {
  const std::string text =
      std::string(kThink) +
      "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"k\" "
      "type=\"string\"<|sep|>v<|close|>argument<|sep|>loose stop text";
  const Ran r = run(marked_up(text), stopping_at({"stop"}));
  EXPECT_EQ(shown(r.message), R"(reasoning="" content="loose " f?({"k":"v"))");
  EXPECT_EQ(r.events.back().kind, Kind::kToolEnd);
}

TEST(Output, EndTokensOfTheRequestEndTheAnswerAndAreNoText) {
  OutputOptions options;
  options.chat = false;
  options.pieces = true;
  const int32_t line_break = tokenizer().encode("\n")[0];
  options.end_ids = {line_break};
  std::vector<int32_t> ids = tokenizer().encode("one");
  const size_t size = ids.size();
  ids.insert(ids.end(), {line_break, line_break});
  const Ran plain = run(ids, options);
  EXPECT_EQ(plain.message.content, "one");
  EXPECT_EQ(plain.pieces.size(), size + 1) << "an entry for the end token as well";
  options.pieces = false;
  options.chat = true;
  EXPECT_EQ(shown(run(ids, options).message), R"(reasoning="one" content="")");
  options.ignore_eos = true;
  options.end_ids = {};
  EXPECT_EQ(
      shown(run(marked_up(std::string(kThink) + kResponse + "a<|end_of_msg|>b[EOS]c"), options)
                .message),
      R"(reasoning="" content="abc")");
}

TEST(Output, PlainTextSpellsControlTokensAndEndsAtTheEnd) {
  OutputOptions options;
  options.chat = false;
  EXPECT_EQ(run(marked_up("a<|open|>b<|end_of_msg|>c"), options).message.content, "a<|open|>b");
}

TEST(Output, CharactersAreNeverCut) {
  OutputOptions options;
  options.chat = false;
  const std::string family = "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9";
  const std::vector<int32_t> ids = byte_by_byte(tokenizer().encode(family));
  for (size_t cut = 0; cut <= ids.size(); ++cut) {
    const std::vector<int32_t> part(ids.begin(), ids.begin() + static_cast<int64_t>(cut));
    EXPECT_EQ(run(part, options).message.content, *tokenizer().decode(part));
  }
}

// ---- any answer ----

// Nothing that has gone out is taken back.
std::string reasoning_as_it_came(const std::vector<int32_t>& ids, bool thinking) {
  ChatParser parser(tokenizer(), thinking);
  std::vector<ChatParser::Event> events;
  for (const int32_t id : ids) parser.push(id, &events);
  parser.finish(&events);
  std::string out;
  bool taken_back = false;
  for (const ChatParser::Event& e : events) {
    if (e.kind == ChatParser::Event::Kind::kReasoning) out += e.text;
    if (e.kind == ChatParser::Event::Kind::kReasoningWasContent) taken_back = true;
  }
  EXPECT_TRUE(taken_back || out == parser.message().reasoning);
  return out;
}

class Garbage {
 public:
  explicit Garbage(unsigned seed) : random_(seed) {}
  size_t below(size_t n) { return random_() % n; }
  bool coin() { return below(2) == 0; }

  std::vector<int32_t> ids(bool structure) {
    static const std::vector<std::string> spellings = {
        "<|open|>",
        "<|close|>",
        "<|sep|>",
        "think",
        "response",
        "tools",
        "json",
        "message",
        "call tool=\"f\" index=\"1\"",
        "argument key=\"k\" type=\"string\"",
        "argument key=\"n\" type=\"number\"",
        "1",
        "{\"a\":1}",
        " ",
        "\n",
        "x",
        "ab",
        "ba",
        "aab",
        "\xF0\x9F\x98\x80",
        "<|media_pad|>",
        "<|open|>tools<|sep|>",
        "<|open|>call tool=\"g\" index=\"2\"<|sep|>",
        "<|close|>call<|sep|>",
        "<|close|>think<|sep|>",
        "<|open|>response<|sep|>",
        "<|open|>argument key=\"a\" type=\"object\"<|sep|>",
        "<|close|>argument<|sep|>",
        "<|close|>response<|sep|>",
        "<|open|>think<|sep|>"};
    std::vector<int32_t> out;
    for (size_t i = 1 + below(30); i > 0; --i) {
      if (below(5) == 0) {  // any bytes, halves of characters too
        out.push_back(static_cast<int32_t>(below(256)));
        continue;
      }
      if (below(60) == 0) {
        out.push_back(tokenizer().control_id("<|end_of_msg|>"));
        continue;
      }
      const std::string& piece = spellings[structure ? below(spellings.size()) : 11 + below(9)];
      for (const int32_t id : marked_up(piece)) out.push_back(id);
    }
    return coin() ? byte_by_byte(out) : out;
  }

  std::vector<std::string> stops() {
    static const std::vector<std::string> choices = {
        "a", "ab", "aab", "ba", "aba", "x", "\n", "abx", "1 ", "\xF0\x9F\x98\x80", "\xEF\xBF\xBD"};
    std::vector<std::string> out;
    for (size_t i = below(4); i > 0; --i) out.push_back(choices[below(choices.size())]);
    return out;
  }

 private:
  std::mt19937 random_;
};

TEST(OutputOfAnything, WithoutStopsIsTheParsersMessage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Garbage garbage(seed);
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    const std::vector<int32_t> ids = garbage.ids(true);
    OutputOptions options;
    options.thinking = garbage.coin();
    ParsedMessage expected = parse_chat(tokenizer(), ids, options.thinking);
    const Ran r = run(ids, options);
    expected.reasoning = reasoning_as_it_came(ids, options.thinking);
    EXPECT_EQ(shown(r.message), shown(expected)) << *tokenizer().decode(ids);
  }
}

TEST(OutputOfAnything, EndsAtTheFirstStopWhereverItIsCut) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Garbage garbage(seed);
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    const std::vector<int32_t> ids = garbage.ids(true);
    OutputOptions options;
    options.thinking = garbage.coin();
    const std::string all = run(ids, options).message.content;
    options.stop = garbage.stops();
    const Ran r = run(ids, options);
    SCOPED_TRACE(*tokenizer().decode(ids));
    const auto [cut, stop] = first_stop(all, options.stop);
    EXPECT_EQ(r.stop, stop);
    for (const std::string& s : options.stop)
      EXPECT_EQ(r.message.content.find(s), std::string::npos) << "leaked " << s;
    EXPECT_TRUE(all.starts_with(r.message.content));
    // Only what stood before a call or a thought has not waited.
    const auto is_content = [](const OutputEvent& e) { return e.kind == Kind::kContent; };
    const auto first = std::find_if(r.events.begin(), r.events.end(), is_content);
    if (std::all_of(first, r.events.end(), is_content))
      EXPECT_EQ(r.message.content, all.substr(0, cut));
    else
      EXPECT_GE(r.message.content.size(), std::min(cut, all.size()));
    EXPECT_EQ(shown(run(byte_by_byte(ids), options).message), shown(r.message));
    options.include_stop = true;
    const std::string kept = run(ids, options).message.content;
    EXPECT_EQ(kept, all.substr(0, stop.empty() ? all.size() : cut + stop.size()));
  }
}

TEST(OutputOfAnything, PiecesOfPlainTextAreTheText) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Garbage garbage(seed);
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    const std::vector<int32_t> ids = garbage.ids(garbage.coin());
    OutputOptions options;
    options.chat = false;
    options.pieces = true;
    options.stop = garbage.stops();
    options.include_stop = garbage.coin();
    options.ignore_eos = garbage.coin();
    const Ran r = run(ids, options);
    ASSERT_EQ(r.pieces.size(), r.pushed);
    std::string text;
    for (size_t i = 0; i < r.pieces.size(); ++i) {
      EXPECT_EQ(r.pieces[i].id, ids[i]);
      int64_t characters = 0;
      for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).bytes) ++characters;
      EXPECT_EQ(r.pieces[i].offset, characters);
      text += r.pieces[i].text;
    }
    EXPECT_EQ(text, r.message.content);

    const int32_t end = tokenizer().control_id("<|end_of_msg|>");
    std::vector<int32_t> seen;
    for (const int32_t id : ids) {
      if (id == end && !options.ignore_eos) break;
      if (id != end) seen.push_back(id);
    }
    const std::string all = *tokenizer().decode(seen);
    const auto [cut, stop] = first_stop(all, options.stop);
    EXPECT_EQ(r.stop, stop);
    EXPECT_EQ(text, all.substr(0, options.include_stop && !stop.empty() ? cut + stop.size() : cut));
  }
}

TEST(TokenText, OfWholeAndOfPartialCharacters) {
  const std::vector<int32_t> ids = byte_by_byte(tokenizer().encode("a\xF0\x9F\x98\x80"));
  EXPECT_EQ(token_text(tokenizer(), ids[0]), "a");
  EXPECT_EQ(token_text(tokenizer(), ids[1]), "bytes:\\xf0");
  EXPECT_EQ(token_text(tokenizer(), tokenizer().control_id("<|sep|>")), "<|sep|>");
  const std::vector<TokenPiece> pieces = token_pieces(tokenizer(), ids, 5);
  ASSERT_EQ(pieces.size(), 5u);
  EXPECT_EQ(pieces[3].text, "");
  EXPECT_EQ(pieces[4].text, "\xF0\x9F\x98\x80");
  EXPECT_EQ(pieces[4].offset, 6);
  EXPECT_EQ(token_pieces(tokenizer(), std::span(ids).first(3)).back().text, "\xEF\xBF\xBD");
}

TEST(StopMatcherDeathTest, AnEmptyStopStringIsTheCallersMistake) {
  EXPECT_DEATH(StopMatcher matcher({"a", ""}, false), "text.empty");
}

}  // namespace
}  // namespace trine::server
