// Rendering of a chat request to a prompt (spec section 10).
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/try.h"
#include "text/chat_messages.h"
#include "text/chat_options.h"
#include "text/chat_tools.h"
#include "text/prompt_builder.h"
#include "text/utf8.h"
#include "trine/chat.h"

namespace trine {
namespace {

using json::Value;
using Role = ChatMessage::Role;

constexpr std::string_view kImagePlaceholder = "<|kimi_image_placeholder|>";
constexpr std::string_view kToolsIntro =
    "# Tools\nHere are the available tools, described in JSONSchema.\n\n";
constexpr std::string_view kNewToolsIntro =
    "## New Tools Available\nThe system dynamically extends the toolset via lazy-loading.\n"
    "You have access to all existing and extended tools.\n"
    "Here are the specs for the extended tools.\n\n";
constexpr std::string_view kEffortIntro =
    "`thinking_effort` guides on how much to think in your thinking channel (not including the "
    "response "
    "channel), supported values include `low`, `medium`, `high`, and `max`.\n"
    "Now the system is invoked with `thinking_effort=";
constexpr std::string_view kRawJsonRule =
    "Your response must be raw JSON data without markdown code blocks (```json) or any additional "
    "formatting.";

std::string json_block(const Value& value) {
  return "```json\n" + json::dump_python(value, {.sort_keys = true, .compact = true}) + "\n```";
}

const char* xtml_type(const Value& value) {
  switch (value.type()) {
    case json::Type::kNull: return "null";
    case json::Type::kBool: return "boolean";
    case json::Type::kInt:
    case json::Type::kFloat: return "number";
    case json::Type::kString: return "string";
    case json::Type::kArray: return "array";
    case json::Type::kObject: break;
  }
  return "object";
}

class Renderer {
 public:
  Renderer(PromptBuilder builder, ChatOptions options)
      : out_(std::move(builder)), options_(std::move(options)) {}

  Result<RenderedPrompt> render(const Value* tools, const std::vector<ChatMessage>& messages) {
    if (tools != nullptr)
      system_note("tool-declare", std::string(kToolsIntro) + json_block(*tools));
    if (!options_.thinking_effort.empty())
      system_note("thinking-effort", std::string(kEffortIntro) + options_.thinking_effort + "`.");
    for (const ChatMessage& m : messages) message(m);
    closing_notes();
    if (options_.add_generation_prompt) {
      out_.open("message", {{"role", "assistant"}});
      out_.open(options_.thinking ? "think" : "response");
    }
    const size_t images = images_.size();
    const size_t prompts = options_.image_prompts ? options_.image_prompts->size() : images;
    if (images != prompts)
      return Status(Code::kInvalidArgument,
                    "options.image_prompts: " + std::to_string(prompts) + " prompts for " +
                        std::to_string(images) +
                        " images; expected one for each image part and each " +
                        std::string(kImagePlaceholder) + " in text");
    RenderedPrompt prompt = out_.take();
    prompt.images = std::move(images_);
    return prompt;
  }

 private:
  void system_note(const std::string& type, const std::string& body) {
    out_.open("message", {{"role", "system"}, {"type", type}});
    out_.text(body);
    end_message();
  }

  void end_message() {
    out_.close("message");
    out_.end_of_message();
  }

  void message(const ChatMessage& m) {
    switch (m.role) {
      case Role::kAssistant: return assistant(m);
      case Role::kTool: return tool_result(m);
      case Role::kUser: named_message("user", m); break;
      case Role::kSystem:
        if (m.tools.is_array())
          return system_note("tool-declare", std::string(kNewToolsIntro) + json_block(m.tools));
        named_message("system", m);
        break;
    }
    content(m.content);
    end_message();
  }

  void named_message(const char* role, const ChatMessage& m) {
    PromptBuilder::Attributes attributes = {{"role", role}};
    if (!m.name.empty()) attributes.emplace_back("name", m.name);
    out_.open("message", attributes);
  }

  void assistant(const ChatMessage& m) {
    named_message("assistant", m);
    result_index_ = 0;
    if (options_.thinking) {
      out_.open("think");
      if (!is_blank(m.reasoning)) text(m.reasoning);
      out_.close("think");
    }
    out_.open("response");
    content(m.content);
    out_.close("response");
    if (!m.calls.empty()) {
      out_.open("tools");
      for (size_t i = 0; i < m.calls.size(); ++i) call(m.calls[i], i + 1);
      out_.close("tools");
    }
    end_message();
  }

  void call(const RequestedCall& call, size_t index) {
    out_.open("call", {{"tool", call.name}, {"index", std::to_string(index)}});
    if (call.raw_arguments) {
      out_.open("json", {{"type", "object"}});
      text(*call.raw_arguments);
      out_.close("json");
    }
    for (const auto& [key, value] : call.arguments.as_object()) {
      out_.open("argument", {{"key", key}, {"type", xtml_type(value)}});
      text(value.is_string() ? value.as_string() : json::dump_python(value, {}));
      out_.close("argument");
    }
    out_.close("call");
  }

  void tool_result(const ChatMessage& m) {
    out_.open("message", {{"role", "tool"},
                          {"tool", m.tool.value_or("")},
                          {"index", std::to_string(++result_index_)}});
    content(m.content);
    end_message();
  }

  void content(const std::vector<ContentPart>& parts) {
    for (const ContentPart& part : parts) {
      if (part.is_image)
        image(part.text);
      else
        text(part.text);
    }
  }

  // Text of the conversation; with image prompts, placeholders in it stand for images.
  void text(std::string_view text) {
    if (options_.image_prompts) {
      for (size_t at = text.find(kImagePlaceholder); at != text.npos;
           at = text.find(kImagePlaceholder)) {
        out_.text(text.substr(0, at));
        image("a placeholder in a text");
        text.remove_prefix(at + kImagePlaceholder.size());
      }
    }
    out_.text(text);
  }

  void image(const std::string& where) {
    const size_t index = images_.size();
    images_.push_back(where);
    if (!options_.image_prompts)
      out_.text(kImagePlaceholder);
    else if (index < options_.image_prompts->size())
      out_.markup((*options_.image_prompts)[index]);  // too few is reported at the end
  }

  void closing_notes() {
    if (options_.tool_choice == "required")
      system_note("tool-choice",
                  "The system is invoked with `tool_choice=required`.\n"
                  "You MUST call tools in the next message.");
    if (options_.tool_choice == "none")
      system_note("tool-choice",
                  "The system is invoked with `tool_choice=none`.\n"
                  "You MUST NOT call any tools in the next message.");
    if (options_.response_format.empty()) return;
    std::string body =
        "The system is invoked with `response_format=" + options_.response_format + "`.\n";
    body += kRawJsonRule;
    if (options_.response_format == "json_schema")
      body += "\nThe JSON data must match the following schema:\n" +
              json_block(options_.response_schema);
    system_note("response-format", body);
  }

  PromptBuilder out_;
  ChatOptions options_;
  std::vector<std::string> images_;
  size_t result_index_ = 0;
};

}  // namespace

Result<RenderedPrompt> render_chat(const Tokenizer& tokenizer, const std::string& request_json) {
  Result<Value> request = json::parse(request_json, "chat request");
  if (!request.ok()) return Status(Code::kInvalidArgument, request.status().message());
  if (!request->is_object())
    return Status(Code::kInvalidArgument, "chat request: expected {\"messages\": [...]}");
  for (const auto& [key, value] : request->as_object())
    if (key != "messages" && key != "tools" && key != "options")
      return Status(Code::kInvalidArgument, "chat request: unknown key " + json::quote(key) +
                                                "; known are messages, tools, options");
  const Value* messages = request->find("messages");
  if (messages == nullptr)
    return Status(Code::kInvalidArgument, "chat request: messages is missing");
  const Value* tools = request->find("tools");
  if (tools != nullptr && tools->is_null()) tools = nullptr;
  if (tools != nullptr) TRINE_RETURN_IF_ERROR(check_tools(*tools, "tools"));
  if (tools != nullptr && tools->as_array().empty()) tools = nullptr;
  const Value* given_options = request->find("options");
  TRINE_ASSIGN_OR_RETURN(ChatOptions options,
                         ChatOptions::parse(given_options == nullptr ? Value() : *given_options));
  TRINE_ASSIGN_OR_RETURN(const std::vector<ChatMessage> parsed, parse_messages(*messages));
  TRINE_ASSIGN_OR_RETURN(PromptBuilder builder, PromptBuilder::make(tokenizer));
  return Renderer(std::move(builder), std::move(options)).render(tools, parsed);
}

}  // namespace trine
