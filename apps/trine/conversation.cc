// Conversations as JSON.
#include "conversation.h"

#include <algorithm>

namespace trine::cli {
namespace {

std::string dump(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Status bad_input(const std::string& where, const std::string& what) {
  return Status(Code::kInvalidArgument, where + ": " + what);
}

}  // namespace

void Conversation::add(const std::string& role, const std::string& content) {
  messages_.push_back({{"role", role}, {"content", content}});
}

void Conversation::add_answer(const ParsedMessage& message) {
  Json answer = {{"role", "assistant"}, {"content", message.content}};
  if (!message.reasoning.empty()) answer["reasoning_content"] = message.reasoning;
  for (const ToolCall& call : message.tool_calls) {
    const size_t index = answer.contains("tool_calls") ? answer["tool_calls"].size() : 0;
    answer["tool_calls"].push_back(
        {{"id", "call_" + std::to_string(index)},
         {"type", "function"},
         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  messages_.push_back(std::move(answer));
}

void Conversation::add_tool_result(const std::string& tool, const std::string& content) {
  messages_.push_back({{"role", "tool"}, {"name", tool}, {"content", content}});
}

bool Conversation::has_system() const {
  return !messages_.empty() && messages_[0].is_object() &&
         messages_[0].value("role", Json()) == "system" && messages_[0].contains("content");
}

std::string Conversation::system() const {
  if (!has_system() || !messages_[0]["content"].is_string()) return {};
  return messages_[0]["content"].get<std::string>();
}

void Conversation::set_system(const std::string& content) {
  if (has_system()) messages_.erase(0);
  if (content.empty()) return;
  messages_.insert(messages_.begin(), Json{{"role", "system"}, {"content", content}});
}

Status Conversation::set_tools(const std::string& text, const std::string& where) {
  Json tools = Json::parse(text, nullptr, false);
  if (tools.is_discarded()) return bad_input(where, "not JSON; expected an array of tools");
  if (!tools.is_array()) {
    return bad_input(where, std::string("found JSON of type ") + tools.type_name() +
                                ", expected an array of tools: "
                                "[{\"type\": \"function\", \"function\": {\"name\": ...}}]");
  }
  tools_ = std::move(tools);
  return Status();
}

void Conversation::set_thinking(const std::string& level) {
  options_.erase("thinking_effort");
  options_["thinking"] = level != "none";
  if (level == "on") {
    options_["thinking_effort"] = nullptr;
  } else if (level != "none") {
    options_["thinking_effort"] = level;
  }
}

Status Conversation::read(const std::string& text, const std::string& where,
                          std::vector<std::string>* ignored) {
  Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) return bad_input(where, "not JSON; expected an array of messages");
  if (root.is_object()) return read_body(root, where, ignored);
  if (!root.is_array()) {
    return bad_input(where, std::string("found JSON of type ") + root.type_name() +
                                ", expected an array of messages or an object with \"messages\"");
  }
  messages_ = std::move(root);
  return Status();
}

Status Conversation::read_body(const Json& body, const std::string& where,
                               std::vector<std::string>* ignored) {
  if (!body.contains("messages") || !body["messages"].is_array()) {
    return bad_input(where, "\"messages\" is absent or no array");
  }
  for (const auto& [key, value] : body.items()) {
    if (key == "messages") {
      messages_ = value;
    } else if (key == "tools") {
      tools_ = value;
    } else if (key == "tool_choice" || key == "response_format") {
      options_[key] = value;
    } else if (key == "chat_template_kwargs" && value.is_object()) {
      for (const auto& [name, option] : value.items()) options_[name] = option;
    } else {
      ignored->push_back(key);
    }
  }
  return Status();
}

std::string Conversation::to_text() const {
  Json body = {{"messages", messages_}};
  if (!tools_.is_null()) body["tools"] = tools_;
  Json kwargs = Json::object();
  for (const auto& [key, value] : options_.items()) {
    if (key == "tool_choice" || key == "response_format") {
      body[key] = value;
    } else {
      kwargs[key] = value;
    }
  }
  if (!kwargs.empty()) body["chat_template_kwargs"] = std::move(kwargs);
  return dump(body, 2) + "\n";
}

bool Conversation::thinking() const {
  return options_.value("thinking", Json(true)) != false &&
         options_.value("thinking_effort", Json("max")) != "none";
}

std::vector<std::string> Conversation::tool_names() const {
  std::vector<std::string> names;
  if (!tools_.is_array()) return names;
  for (const Json& tool : tools_) {
    const Json* function = &tool;
    if (tool.is_object() && tool.contains("function")) function = &tool["function"];
    const bool named =
        function->is_object() && function->contains("name") && (*function)["name"].is_string();
    names.push_back(named ? (*function)["name"].get<std::string>() : "(unnamed)");
  }
  return names;
}

int64_t Conversation::turns() const {
  return static_cast<int64_t>(messages_.size()) - (has_system() ? 1 : 0);
}

void Conversation::clear_turns() {
  Json kept = Json::array();
  if (has_system()) kept.push_back(messages_[0]);
  messages_ = std::move(kept);
}

std::string Conversation::request(bool add_generation_prompt) const {
  Json options = options_;
  options["add_generation_prompt"] = add_generation_prompt;
  return dump(Json{{"messages", messages_}, {"tools", tools_}, {"options", options}});
}

Result<RenderedPrompt> Conversation::prompt(const Tokenizer& tokenizer) const {
  Result<RenderedPrompt> rendered = render_chat(tokenizer, request(true));
  if (rendered.ok() && !rendered->images.empty()) {
    return Status(Code::kUnsupported, rendered->images.front() +
                                          ": an image, but vision is not supported yet; take the "
                                          "images out of the messages");
  }
  return rendered;
}

}  // namespace trine::cli
