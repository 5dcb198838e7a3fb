// A conversation at the keyboard (or from a pipe): messages, commands, tool results.
#pragma once

#include <string>

#include "answer.h"
#include "chat_session.h"
#include "conversation.h"
#include "line_reader.h"

namespace trine::cli {

class ChatRoom {
 public:
  ChatRoom(const Model& model, const Tokenizer& tokenizer, Sequence sequence,
           Conversation conversation, const AnswerOptions& options, bool keep_history)
      : model_(model),
        tokenizer_(tokenizer),
        session_(&tokenizer, std::move(sequence)),
        conversation_(std::move(conversation)),
        options_(options),
        sampler_(options.sampling),
        lines_(keep_history) {}

  /// Until /exit or the end of the input. From a pipe the first failure is the exit code.
  int run();

 private:
  struct Command {
    const char* name;
    const char* help;
    void (ChatRoom::*act)(const std::string& argument);
  };
  static const Command kCommands[];

  void handle_command(const std::string& line);
  /// A message of the user and all that follows from it.
  void handle_message(const std::string& text);
  /// Answers the conversation as it is; false ends the turn.
  bool answer_once();
  /// Asks for the results of the calls just made; false when there are none to send.
  bool read_tool_results(const std::vector<ToolCall>& calls);

  void set_system(const std::string& argument);
  void set_tools(const std::string& argument);
  void set_thinking(const std::string& argument);
  void save(const std::string& argument);
  void load(const std::string& argument);
  void show_stats(const std::string& argument);
  void reset(const std::string& argument);
  void show_help(const std::string& argument);
  void leave(const std::string& argument);

  /// Goes on with `changed`, read from the file `where`, if it can be rendered; else says why not
  /// and keeps the conversation.
  bool adopt(Conversation changed, const std::string& where);
  void say(const std::string& text) const;
  void note_failure(int exit_code);

  const Model& model_;
  const Tokenizer& tokenizer_;
  ChatSession session_;
  Conversation conversation_;
  AnswerOptions options_;
  Sampler sampler_;
  LineReader lines_;
  Answer last_;
  bool answered_ = false;
  bool done_ = false;
  int exit_code_ = 0;
};

}  // namespace trine::cli
