// The "messages" of a chat request, checked and put in order before rendering (spec section 10).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "trine/status.h"

namespace trine {

/// One piece of content: text, or the place of an image.
struct ContentPart {
  bool is_image = false;
  std::string text;  ///< of an image: where it stands, "messages[0].content[1]"
};

struct RequestedCall {
  std::optional<std::string> id;
  std::string name;
  json::Value arguments = json::Value::object();  ///< an object, unless ...
  std::optional<std::string> raw_arguments;       ///< ... the arguments are text that is not JSON
};

struct ChatMessage {
  enum class Role { kUser, kSystem, kAssistant, kTool };
  Role role = Role::kUser;
  std::string name;
  std::vector<ContentPart> content;
  std::string reasoning;
  json::Value tools;                 ///< of a system message that extends the tool set; else null
  std::vector<RequestedCall> calls;  ///< of an assistant
  std::optional<std::string> tool;   ///< of a tool result: the tool's name, resolved
};

/// Reads the array; tool results are sorted into call order and their names resolved. Errors are
/// kInvalidArgument and name the message and its key.
Result<std::vector<ChatMessage>> parse_messages(const json::Value& messages);

}  // namespace trine
