// A conversation as the JSON that render_chat takes: messages, tools and rendering options.
#pragma once

#include <string>
#include <vector>

#include "json.h"
#include "trine/chat.h"
#include "trine/status.h"

namespace trine::cli {

/// Values of --think: "none" = no reasoning, "on" = reasoning without an effort message.
inline std::vector<std::string> think_levels() {
  return {"none", "on", "low", "medium", "high", "max"};
}

class Conversation {
 public:
  void add(const std::string& role, const std::string& content);
  void add_answer(const ParsedMessage& message);
  void add_tool_result(const std::string& tool, const std::string& content);
  /// Puts, replaces or (empty) removes the system message in front.
  void set_system(const std::string& content);
  /// JSON array of tools.
  Status set_tools(const std::string& text, const std::string& where);
  void clear_tools() { tools_ = nullptr; }
  void set_thinking(const std::string& level);

  /// Reads an array of messages, or an object with messages, tools, tool_choice, response_format
  /// and chat_template_kwargs as an OpenAI chat request has them; other members go to `ignored`.
  Status read(const std::string& text, const std::string& where, std::vector<std::string>* ignored);
  /// What read() takes back.
  std::string to_text() const;

  bool thinking() const;
  bool empty() const { return messages_.empty(); }
  std::string system() const;
  std::vector<std::string> tool_names() const;
  /// Messages of the user and the assistant.
  int64_t turns() const;
  void clear_turns();

  /// The request of render_chat.
  std::string request(bool add_generation_prompt) const;
  /// The prompt of the next answer. Images are refused: nothing here can see them.
  Result<RenderedPrompt> prompt(const Tokenizer& tokenizer) const;

 private:
  bool has_system() const;
  Status read_body(const Json& body, const std::string& where, std::vector<std::string>* ignored);

  Json messages_ = Json::array();
  Json tools_;
  Json options_ = Json::object();
};

}  // namespace trine::cli
