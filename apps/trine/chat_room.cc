// The turns of a conversation.
#include "chat_room.h"

#include <iostream>

#include "answer_writer.h"
#include "common.h"
#include "interrupt.h"

namespace trine::cli {

int ChatRoom::run() {
  const InterruptGuard guard;
  if (lines_.interactive()) say("Type a message, /help for commands, Ctrl-D to leave.");
  while (!done_) {
    InterruptGuard::clear();
    std::string line;
    const LineReader::Outcome outcome = lines_.read("> ", &line);
    if (outcome == LineReader::Outcome::kEnd) break;
    if (outcome == LineReader::Outcome::kInterrupted) {
      if (lines_.interactive()) continue;
      return kInterrupted;
    }
    if (line.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    if (line.front() == '/') {
      handle_command(line);
    } else {
      handle_message(line);
    }
    if (!lines_.interactive() && InterruptGuard::interrupted()) return kInterrupted;
  }
  return lines_.interactive() ? kDone : exit_code_;
}

void ChatRoom::handle_message(const std::string& text) {
  const Conversation before = conversation_;
  conversation_.add("user", text);
  answered_ = false;
  while (answer_once()) {
    // A tool was called and its result is there: the model goes on.
  }
  if (!answered_) conversation_ = before;
}

bool ChatRoom::answer_once() {
  Result<std::vector<int32_t>> prompt = session_.next_prompt(conversation_);
  if (!prompt.ok()) {
    note_failure(fail(prompt.status()));
    return false;
  }
  options_.thinking = conversation_.thinking();
  Result<Answer> result =
      answer(model_, tokenizer_, session_.sequence(), &sampler_, *prompt, options_);
  if (!result.ok()) {
    session_.invalidate();
    note_failure(fail(result.status()));
    say("/reset starts a new conversation, /save FILE keeps this one.");
    return false;
  }
  last_ = std::move(result).value();
  if (last_.generation.ids.empty()) {  // Ctrl-C while the prompt was read
    session_.invalidate();
    return false;
  }
  answered_ = true;
  conversation_.add_answer(last_.message);
  session_.answered(conversation_, last_.generation);
  if (last_.finish_reason == "length") say("[stopped at the length limit]");
  if (last_.finish_reason == "interrupted") say("[interrupted]");
  return last_.finish_reason == "tool_calls" && read_tool_results(last_.message.tool_calls);
}

bool ChatRoom::read_tool_results(const std::vector<ToolCall>& calls) {
  std::vector<std::string> results;
  for (const ToolCall& call : calls) {
    std::string line;
    const auto outcome = lines_.read("result of " + call.name + " (empty: none)> ", &line);
    if (outcome != LineReader::Outcome::kLine || line.empty()) return false;
    results.push_back(line);
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    conversation_.add_tool_result(calls[i].name, results[i]);
  }
  return true;
}

bool ChatRoom::adopt(Conversation changed, const std::string& where) {
  const Result<RenderedPrompt> prompt = changed.prompt(tokenizer_);
  if (!prompt.ok()) {
    note_failure(fail(prompt.status().with_context(where)));
    return false;
  }
  conversation_ = std::move(changed);
  return true;
}

void ChatRoom::say(const std::string& text) const {
  if (!options_.quiet) std::cerr << dimmed(text) << "\n";
}

void ChatRoom::note_failure(int exit_code) {
  if (exit_code_ == kDone) exit_code_ = exit_code;
}

}  // namespace trine::cli
