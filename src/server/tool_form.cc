// XTML forms of tools; see the header.
#include "server/tool_form.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/try.h"

namespace trine::server {
namespace {

using grammar::Grammar;

constexpr size_t kPropertiesMax = 256;  ///< that are written as <argument> elements
constexpr int64_t kWorkMax = 200'000;   ///< members that compiling them may look at

constexpr std::array<std::pair<std::string_view, uint8_t>, 6> kTypes = {{
    {"string", grammar::kStringBit},
    {"number", grammar::kNumberBits},
    {"boolean", grammar::kBooleanBit},
    {"null", grammar::kNullBit},
    {"object", grammar::kObjectBit},
    {"array", grammar::kArrayBit},
}};

std::string escaped(std::string_view text, std::string_view specials,
                    std::initializer_list<std::string_view> escapes) {
  std::string out;
  for (const char c : text) {
    const size_t at = specials.find(c);
    if (at == specials.npos)
      out += c;
    else
      out += escapes.begin()[at];
  }
  return out;
}

std::string attribute(std::string_view value) {
  return "\"" + escaped(value, "&\"", {"&amp;", "&quot;"}) + "\"";
}

std::string pointer_step(std::string_view key) { return "/" + escaped(key, "~/", {"~0", "~1"}); }

bool names_string(const json::Value& list, const std::string& name) {
  return std::any_of(list.as_array().begin(), list.as_array().end(),
                     [&](const json::Value& v) { return v.is_string() && v.as_string() == name; });
}

// Members and items, at any depth.
int64_t size_of(const json::Value& value) {
  int64_t size = 1;
  for (const json::Value& item : value.as_array()) size += size_of(item);
  for (const auto& [key, member] : value.as_object()) size += size_of(member);
  return size;
}

bool refers(const json::Value& value) {
  return value.find("$ref") != nullptr ||
         std::any_of(value.as_array().begin(), value.as_array().end(), refers) ||
         std::any_of(value.as_object().begin(), value.as_object().end(),
                     [](const json::Value::Member& m) { return refers(m.second); });
}

// Each argument is compiled by itself, those that refer to other places with the whole schema.
bool is_too_large(const json::Value& schema) {
  const json::Value::Object& properties = schema.find("properties")->as_object();
  const auto referring = std::count_if(properties.begin(), properties.end(),
                                       [](const auto& p) { return refers(p.second); });
  return properties.size() > kPropertiesMax || size_of(schema) * referring > kWorkMax;
}

// True when the properties and `required` say all there is about the object.
bool lists_properties(const json::Value& schema) {
  constexpr std::array<std::string_view, 14> kHarmless = {
      "type",        "properties",  "required", "additionalProperties",
      "title",       "description", "$schema",  "$id",
      "$comment",    "default",     "examples", "$defs",
      "definitions", "strict"};
  for (const auto& [key, value] : schema.as_object())
    if (std::find(kHarmless.begin(), kHarmless.end(), key) == kHarmless.end()) return false;
  const json::Value* properties = schema.find("properties");
  if (properties == nullptr || !properties->is_object()) return false;
  const json::Value* type = schema.find("type");
  if (type != nullptr && !(type->is_string() && type->as_string() == "object")) return false;
  const json::Value* required = schema.find("required");
  if (required == nullptr) return true;
  return std::all_of(
      required->as_array().begin(), required->as_array().end(),
      [&](const json::Value& name) { return properties->find(name.as_string()) != nullptr; });
}

// Types that the schema names; all where it names none (what cannot be is found out in compiling).
bool may_have_type(const json::Value& schema, const std::string& type) {
  const json::Value* named = schema.find("type");
  if (named == nullptr) return true;
  const auto says = [&](const std::string& name) {
    return (named->is_string() && named->as_string() == name) || names_string(*named, name);
  };
  return says(type) || (type == "number" && says("integer"));
}

Result<ToolForm> with_properties(const ToolSpec& tool, ToolForm form) {
  const json::Value::Object& properties = tool.parameters.find("properties")->as_object();
  const json::Value* required = tool.parameters.find("required");
  for (const auto& [key, schema] : properties) {
    const size_t property = form.required.size();
    form.required.push_back(required != nullptr && names_string(*required, key));
    const size_t before = form.arguments.size();
    Status failure;
    for (const auto& [type, bits] : kTypes) {
      if (!may_have_type(schema, std::string(type))) continue;
      grammar::SchemaOptions options;
      options.root_types = bits;
      options.bare_root_string = true;
      options.root_pointer = "/properties" + pointer_step(key);
      Result<std::shared_ptr<const Grammar>> value = Grammar::from_schema(tool.parameters, options);
      // The schema as a whole is sound (see the caller): a failure means that no value fits.
      if (!value.ok()) {
        failure = value.status();
        continue;
      }
      form.arguments.push_back(
          {"argument key=" + attribute(key) + " type=" + attribute(type), property, *value});
    }
    if (form.arguments.size() == before && form.required.back()) return failure;
  }
  return form;
}

Result<ToolForm> checked_form(const ToolSpec& tool) {
  ToolForm form;
  form.head = "call tool=" + attribute(tool.name) + " index=\"";
  if (tool.parameters.is_null()) return form;
  grammar::SchemaOptions options;
  options.root_types = grammar::kObjectBit;
  TRINE_ASSIGN_OR_RETURN(form.json, Grammar::from_schema(tool.parameters, options));
  if (!lists_properties(tool.parameters) || is_too_large(tool.parameters)) return form;
  form.json = nullptr;
  return with_properties(tool, std::move(form));
}

}  // namespace

Result<ToolForm> tool_form(const ToolSpec& tool) {
  Result<ToolForm> form = checked_form(tool);
  if (form.ok()) return form;
  return form.status().with_context("parameters of tool '" + tool.name + "'");
}

Result<ToolForm> loose_tool_form(const ToolSpec& tool) {
  ToolSpec any = tool;
  any.parameters = json::Value(true);
  return tool_form(any);
}

}  // namespace trine::server
