// What a tool must look like.
#include "text/chat_tools.h"

#include "base/try.h"

namespace trine {
namespace {

using json::Value;

constexpr size_t kQuoteMax = 60;

// The value as it was written, shortened: a schema may be long.
std::string found(const Value* value) {
  if (value == nullptr) return "nothing";
  std::string text = json::dump(*value);
  if (text.size() <= kQuoteMax) return text;
  switch (value->type()) {
    case json::Type::kObject: return "an object";
    case json::Type::kArray: return "an array";
    default: return "a long text";
  }
}

Status expect(bool holds, const std::string& where, const Value* value, const char* expected) {
  if (holds) return Status();
  return Status(Code::kInvalidArgument,
                where + ": found " + found(value) + ", expected " + expected);
}

bool absent(const Value* value) { return value == nullptr || value->is_null(); }

Status check_function(const Value& function, const std::string& where) {
  const Value* name = function.find("name");
  const bool named = name != nullptr && name->is_string() && !name->as_string().empty();
  TRINE_RETURN_IF_ERROR(expect(named, where + ".name", name, "the name of the function"));
  const Value* description = function.find("description");
  TRINE_RETURN_IF_ERROR(expect(absent(description) || description->is_string(),
                               where + ".description", description, "a string"));
  const Value* parameters = function.find("parameters");
  return expect(absent(parameters) || parameters->is_object(), where + ".parameters", parameters,
                "an object: the JSON Schema of the arguments");
}

Status check_tool(const Value& tool, const std::string& where) {
  TRINE_RETURN_IF_ERROR(expect(tool.is_object(), where, &tool,
                               R"(an object: {"type": "function", "function": {"name": ...}})"));
  const Value* type = tool.find("type");
  const bool is_function = type != nullptr && type->is_string() && type->as_string() == "function";
  TRINE_RETURN_IF_ERROR(expect(is_function, where + ".type", type, "\"function\""));
  const Value* function = tool.find("function");
  TRINE_RETURN_IF_ERROR(expect(function != nullptr && function->is_object(), where + ".function",
                               function, R"(an object: {"name": ..., "parameters": {...}})"));
  return check_function(*function, where + ".function");
}

}  // namespace

Status check_tools(const Value& tools, const std::string& where) {
  TRINE_RETURN_IF_ERROR(expect(tools.is_array(), where, &tools, "an array of tools"));
  for (size_t i = 0; i < tools.as_array().size(); ++i)
    TRINE_RETURN_IF_ERROR(check_tool(tools.as_array()[i], where + "[" + std::to_string(i) + "]"));
  return Status();
}

}  // namespace trine
