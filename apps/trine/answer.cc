// Generating and showing one answer.
#include "answer.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include "answer_writer.h"
#include "interrupt.h"
#include "model_options.h"
#include "progress.h"

namespace trine::cli {
namespace {

// Turns ids into what is shown and kept; says when a stop string ended the answer.
class AnswerReader {
 public:
  AnswerReader(const Tokenizer& tokenizer, const AnswerOptions& options)
      : tokenizer_(tokenizer),
        raw_(options.raw),
        stops_(options.stops),
        parser_(tokenizer, options.thinking),
        writer_(options.stream, !options.quiet) {}

  void take(int32_t id) {
    if (raw_) {
      show_content(std::string(tokenizer_.token_bytes(id)));
      return;
    }
    std::vector<ChatParser::Event> events;
    parser_.push(id, &events);
    show(events);
  }

  ParsedMessage finish() {
    if (!raw_) {
      std::vector<ChatParser::Event> events;
      parser_.finish(&events);
      show(events);
    }
    const std::string held = stops_.stopped() ? std::string() : stops_.finish();
    content_ += held;
    writer_.content(held);
    writer_.finish();
    ParsedMessage message = raw_ ? ParsedMessage() : parser_.message();
    message.content = content_;
    return message;
  }

  bool stopped() const { return stops_.stopped(); }

 private:
  void show_content(std::string_view piece) {
    const std::string certain = stops_.push(piece);
    content_ += certain;
    writer_.content(certain);
  }

  void show(const std::vector<ChatParser::Event>& events) {
    using Kind = ChatParser::Event::Kind;
    for (const ChatParser::Event& event : events) {
      if (event.kind == Kind::kReasoning) writer_.reasoning(event.text);
      if (event.kind == Kind::kContent) show_content(event.text);
      if (event.kind == Kind::kToolCallEnd) {
        const auto index = static_cast<size_t>(event.tool_index);
        const std::vector<ToolCall>& calls = parser_.message().tool_calls;
        if (index < calls.size()) writer_.tool_call(calls[index]);
      }
    }
  }

  const Tokenizer& tokenizer_;
  bool raw_;
  StopMatcher stops_;
  ChatParser parser_;
  AnswerWriter writer_;
  std::string content_;
};

std::string finish_reason(const Generation& generation, const ParsedMessage& message) {
  if (generation.finish == FinishReason::kLength) return "length";
  if (InterruptGuard::interrupted()) return "interrupted";
  return message.tool_calls.empty() ? "stop" : "tool_calls";
}

}  // namespace

std::vector<int32_t> stop_ids(const Model& model, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (const int64_t id : model.eos_token_ids()) ids.push_back(static_cast<int32_t>(id));
  for (const char* name : {"<|end_of_msg|>", "<|im_end|>", "[EOT]", "[EOS]"}) {
    if (const int32_t id = tokenizer.control_id(name); id >= 0) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<Answer> answer(const Model& model, const Tokenizer& tokenizer, Sequence* sequence,
                      Sampler* sampler, std::span<const int32_t> prompt,
                      const AnswerOptions& options) {
  const Status room = check_room(model, sequence->position(), static_cast<int64_t>(prompt.size()));
  if (!room.ok()) return room;
  AnswerReader reader(tokenizer, options);
  Progress progress("reading the prompt", Unit::kTokens, options.quiet);
  GenerateOptions generate_options;
  generate_options.max_tokens = options.max_tokens;
  generate_options.stop_ids = stop_ids(model, tokenizer);
  generate_options.on_prefill = [&](int64_t done, int64_t total) {
    progress.update(done, total);
    return !InterruptGuard::interrupted();
  };
  const std::vector<int32_t>& stops = generate_options.stop_ids;
  generate_options.on_token = [&](int32_t id) {
    progress.clear();
    // In raw text the stop id is no part of the answer; the parser knows its own.
    const bool is_stop = std::binary_search(stops.begin(), stops.end(), id);
    if (!options.raw || !is_stop) reader.take(id);
    return !reader.stopped() && !InterruptGuard::interrupted();
  };
  Result<Generation> generation = generate(model, sequence, sampler, prompt, generate_options);
  progress.clear();
  Answer out;
  out.message = reader.finish();
  if (!generation.ok()) return generation.status();
  out.generation = std::move(generation).value();
  out.finish_reason = finish_reason(out.generation, out.message);
  return out;
}

}  // namespace trine::cli
