// Random answers under constraints: whatever is chosen among the allowed tokens, the walk never
// gets stuck and the answer is what was demanded, as the chat parser reads it.
#include "server/constraint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

#include "text/fixtures.h"
#include "text/utf8.h"

namespace trine::server {
namespace {

using json::Value;

const Tokenizer& tokenizer() { return test::nano_tokenizer(); }

// No grammar can see that a key that may be anything comes twice.
Value parsed_json(const std::string& text) {
  json::ParseLimits limits;
  limits.allow_duplicate_keys = true;
  Result<Value> value = json::parse(text, "", limits);
  EXPECT_TRUE(value.ok()) << value.status().to_string() << " in " << text;
  return value.ok() ? *value : Value();
}

int32_t control(const char* spelling) { return tokenizer().control_id(spelling); }

std::vector<int32_t> marked_up(const std::string& text) { return tokenizer().encode(text, true); }

ConstraintMaker& maker() {
  static ConstraintMaker made(tokenizer(), {tokenizer().control_id("[EOS]")});
  return made;
}

std::shared_ptr<Constraint> made(const ConstraintSpec& spec) {
  Result<std::shared_ptr<Constraint>> constraint = maker().make(spec);
  EXPECT_TRUE(constraint.ok()) << constraint.status().to_string();
  return constraint.ok() ? *constraint : nullptr;
}

std::vector<uint64_t> empty_mask() {
  return std::vector<uint64_t>(static_cast<size_t>((tokenizer().vocab_size() + 63) / 64));
}

bool allows(Constraint& constraint, int32_t id) {
  std::vector<uint64_t> mask = empty_mask();
  if (!constraint.mask(mask)) return true;
  return (mask[static_cast<size_t>(id) / 64] >> (static_cast<size_t>(id) % 64) & 1) != 0;
}

// Follows the answer; the number of tokens that were allowed before the first that was not.
size_t allowed_tokens(Constraint& constraint, const std::vector<int32_t>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!allows(constraint, ids[i])) return i;
    constraint.accept(ids[i]);
  }
  return ids.size();
}

bool allows_all(const ConstraintSpec& spec, const std::string& answer) {
  const std::vector<int32_t> ids = marked_up(answer);
  return allowed_tokens(*made(spec), ids) == ids.size();
}

// ---- random walks ----

class Walker {
 public:
  explicit Walker(unsigned seed) : random_(seed) {}

  // Ends after <|end_of_msg|> or [EOS]. Short texts: what closes is taken sooner and sooner.
  std::vector<int32_t> walk(Constraint& constraint) {
    std::vector<int32_t> ids;
    std::vector<uint64_t> mask = empty_mask();
    const size_t patience = random_() % 60;
    while (ids.size() < 6000) {
      std::fill(mask.begin(), mask.end(), ~uint64_t{0});
      if (!constraint.mask(mask)) {
        ADD_FAILURE() << "not narrowed";
        return ids;
      }
      const int32_t id = choose(mask, ids.size() > patience);
      if (id < 0) {
        ADD_FAILURE() << "stuck after " << *tokenizer().decode(ids);
        return ids;
      }
      constraint.accept(id);
      ids.push_back(id);
      if (id == control("<|end_of_msg|>") || id == control("[EOS]")) return ids;
    }
    ADD_FAILURE() << "no end: " << *tokenizer().decode(ids);
    return ids;
  }

 private:
  int32_t choose(const std::vector<uint64_t>& mask, bool hurry) {
    std::vector<int32_t> all;
    std::vector<int32_t> controls;
    std::vector<int32_t> closers;
    for (size_t word = 0; word < mask.size(); ++word)
      for (uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
        const auto id =
            static_cast<int32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
        all.push_back(id);
        const std::string_view bytes = tokenizer().token_bytes(id);
        if (tokenizer().is_control(id)) controls.push_back(id);
        if (bytes == "\"" || bytes == "}" || bytes == "]") closers.push_back(id);
      }
    if (all.empty()) return -1;
    const size_t eager = hurry ? 5 : 1;
    if (hurry &&
        std::find(controls.begin(), controls.end(), control("<|close|>")) != controls.end())
      return control("<|close|>");
    if (!controls.empty() && random_() % 6 < eager) return controls[random_() % controls.size()];
    if (!closers.empty() && random_() % 6 < eager) return closers[random_() % closers.size()];
    return all[random_() % all.size()];
  }

  std::mt19937 random_;
};

// JSON Schema, as far as these tests use it.
bool fits(const Value& value, const Value& schema);

bool has_type(const Value& v, const std::string& type) {
  int64_t whole = 0;
  if (type == "integer") return v.is_number() && v.to_int64(&whole);
  return (type == "string" && v.is_string()) || (type == "number" && v.is_number()) ||
         (type == "boolean" && v.is_bool()) || (type == "null" && v.is_null()) ||
         (type == "array" && v.is_array()) || (type == "object" && v.is_object());
}

bool object_fits(const Value& value, const Value& schema) {
  const Value* properties = schema.find("properties");
  const Value* additional = schema.find("additionalProperties");
  for (const auto& [key, member] : value.as_object()) {
    const Value* own = properties == nullptr ? nullptr : properties->find(key);
    if (own == nullptr && additional != nullptr && additional->is_bool() && !additional->as_bool())
      return false;
    if (own != nullptr && !fits(member, *own)) return false;
  }
  if (const Value* required = schema.find("required"))
    for (const Value& key : required->as_array())
      if (value.find(key.as_string()) == nullptr) return false;
  return true;
}

bool fits(const Value& value, const Value& schema) {
  if (const Value* type = schema.find("type")) {
    bool any = type->is_string() && has_type(value, type->as_string());
    for (const Value& one : type->as_array()) any = any || has_type(value, one.as_string());
    if (!any) return false;
  }
  if (const Value* choices = schema.find("enum")) {
    bool any = false;
    for (const Value& one : choices->as_array()) any = any || json::dump(one) == json::dump(value);
    if (!any) return false;
  }
  if (const Value* any_of = schema.find("anyOf")) {
    bool any = false;
    for (const Value& one : any_of->as_array()) any = any || fits(value, one);
    if (!any) return false;
  }
  const Value* least = schema.find("minimum");
  if (least != nullptr && value.is_number() && value.as_double() < least->as_double()) return false;
  const Value* short_most = schema.find("minLength");
  int64_t length_min = 0;
  if (short_most != nullptr && value.is_string() && short_most->to_int64(&length_min)) {
    int64_t length = 0;
    const std::string& text = value.as_string();
    for (size_t at = 0; at < text.size(); at += decode_utf8(text, at).bytes) ++length;
    if (length < length_min) return false;
  }
  if (const Value* items = schema.find("items"))
    for (const Value& item : value.as_array())
      if (!fits(item, *items)) return false;
  return !value.is_object() || object_fits(value, schema);
}

ToolSpec tool(const std::string& name, const std::string& parameters, bool strict = false) {
  return {name, parameters.empty() ? Value() : parsed_json(parameters), strict};
}

std::vector<ToolSpec> all_kinds_of_tools() {
  return {tool("get \"weather\" & more", R"({"type":"object","properties":{
          "city":{"type":"string","minLength":2},"unit":{"enum":["C","F",1,null]},
          "days":{"type":"integer","minimum":1},"a/b~c\"":{"type":["boolean","array"],
          "items":{"type":"number"}}},"required":["city","days"]})"),
          tool("nothing", ""),
          tool("no_properties", R"({"type":"object","properties":{}})"),
          tool("any_object", R"({"type":"object"})"),
          tool("either", R"({"anyOf":[{"type":"object","properties":{"id":{"type":"integer"}},
          "required":["id"],"additionalProperties":false},{"type":"object","properties":{
          "name":{"type":"string"}},"required":["name"],"additionalProperties":false}]})"),
          tool("tree", R"({"type":"object","$defs":{"node":{"type":"object","properties":{
          "value":{"type":"number"},"next":{"$ref":"#/$defs/node"}},"required":["value"],
          "additionalProperties":false}},"properties":{"root":{"$ref":"#/$defs/node"},
          "what":{}},"required":["root"]})")};
}

const ToolSpec* find_tool(const std::vector<ToolSpec>& tools, const std::string& name) {
  for (const ToolSpec& t : tools)
    if (t.name == name) return &t;
  return nullptr;
}

void expect_good_calls(const std::vector<ToolCall>& calls, const std::vector<ToolSpec>& tools) {
  for (const ToolCall& call : calls) {
    EXPECT_TRUE(!call.arguments_are_text || call.name == "any_object") << call.arguments;
    const ToolSpec* spec = find_tool(tools, call.name);
    ASSERT_NE(spec, nullptr) << call.name;
    const Value arguments = parsed_json(call.arguments);
    EXPECT_TRUE(arguments.is_object());
    EXPECT_TRUE(fits(arguments, spec->parameters)) << call.name << " " << call.arguments;
  }
}

TEST(Constraint, RandomRequiredCallsAreValid) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Walker walker(seed);
  ConstraintSpec spec;
  spec.tool_choice = ConstraintSpec::ToolChoice::kRequired;
  spec.tools = all_kinds_of_tools();
  std::set<std::string> called;
  for (int round = 0; round < 150 && !HasFailure(); ++round) {
    spec.thinking = round % 2 == 0;
    spec.parallel_calls = round % 3 != 0;
    const std::vector<int32_t> ids = walker.walk(*made(spec));
    SCOPED_TRACE(*tokenizer().decode(ids));
    const ParsedMessage message = parse_chat(tokenizer(), ids, spec.thinking);
    EXPECT_GE(message.tool_calls.size(), 1u);
    EXPECT_TRUE(spec.parallel_calls || message.tool_calls.size() == 1);
    expect_good_calls(message.tool_calls, spec.tools);
    for (const ToolCall& call : message.tool_calls) called.insert(call.name);
  }
  EXPECT_EQ(called.size(), spec.tools.size()) << "every tool was tried";
}

TEST(Constraint, RandomContentFitsTheSchema) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Walker walker(seed);
  ConstraintSpec spec;
  spec.content = ConstraintSpec::Content::kJsonSchema;
  spec.schema = parsed_json(R"({"type":"object","properties":{"a":{"type":"integer","minimum":0},
      "b":{"type":"array","items":{"enum":["x","y"]}}},"required":["a"],
      "additionalProperties":false})");
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    spec.thinking = round % 2 == 0;
    const std::vector<int32_t> ids = walker.walk(*made(spec));
    SCOPED_TRACE(*tokenizer().decode(ids));
    const ParsedMessage message = parse_chat(tokenizer(), ids, spec.thinking);
    EXPECT_TRUE(message.tool_calls.empty());
    EXPECT_TRUE(fits(parsed_json(message.content), spec.schema));
  }
  spec.chat = false;
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    std::vector<int32_t> ids = walker.walk(*made(spec));
    ids.pop_back();
    EXPECT_TRUE(fits(parsed_json(*tokenizer().decode(ids)), spec.schema));
  }
}

TEST(Constraint, RandomAnswersAreContentOrCallsWhereBothMayBe) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Walker walker(seed);
  ConstraintSpec spec;
  spec.content = ConstraintSpec::Content::kJsonObject;
  spec.tools = all_kinds_of_tools();
  int with_calls = 0;
  int with_content = 0;
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const std::vector<int32_t> ids = walker.walk(*made(spec));
    SCOPED_TRACE(*tokenizer().decode(ids));
    const ParsedMessage message = parse_chat(tokenizer(), ids, spec.thinking);
    expect_good_calls(message.tool_calls, spec.tools);
    with_calls += message.tool_calls.empty() ? 0 : 1;
    with_content += message.content.empty() ? 0 : 1;
    if (message.tool_calls.empty() || !message.content.empty()) {
      EXPECT_TRUE(parsed_json(message.content).is_object()) << message.content;
    }
  }
  EXPECT_GT(with_calls, 0);
  EXPECT_GT(with_content, 0);
}

// ---- where it begins, and what it leaves alone ----

constexpr const char* kToResponse = "<|close|>think<|sep|><|open|>response<|sep|>";
constexpr const char* kToEnd = "<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>";

ConstraintSpec json_object() {
  ConstraintSpec spec;
  spec.content = ConstraintSpec::Content::kJsonObject;
  return spec;
}

TEST(Constraint, ReasoningIsAnyText) {
  EXPECT_TRUE(allows_all(json_object(), "Not { JSON ] at \xF0\x9F\x98\x80 all\n" +
                                            std::string(kToResponse) + "{\"a\": [1, {}]}" +
                                            kToEnd));
  EXPECT_FALSE(allows_all(json_object(), "why" + std::string(kToResponse) + "Sure"));
  EXPECT_FALSE(allows_all(json_object(), "why" + std::string(kToResponse) + "[1]"));
}

TEST(Constraint, TheWayFromReasoningToTheResponseIsForced) {
  const ConstraintSpec spec = json_object();
  EXPECT_FALSE(allows_all(spec, "why<|end_of_msg|>"));
  EXPECT_FALSE(allows_all(spec, "why<|open|>"));
  EXPECT_FALSE(allows_all(spec, "why<|close|>response"));
  EXPECT_FALSE(allows_all(spec, "why<|close|>think<|sep|>{"));
  EXPECT_FALSE(allows_all(spec, "why<|close|>think<|sep|><|open|>tools"));
  EXPECT_FALSE(allows_all(spec, "why<|close|>think<|sep|><|close|>"));
  EXPECT_FALSE(allows_all(spec, std::string(kToResponse) + "<|close|>")) << "nothing is no object";
  EXPECT_FALSE(allows_all(spec, std::string(kToResponse) + "{}<|close|>response<|sep|><|open|>"));
  EXPECT_FALSE(allows_all(spec, std::string(kToResponse) + "{}<|end_of_msg|>"));
}

TEST(Constraint, MarkersMayComeInAnyTokens) {
  std::vector<int32_t> ids;
  for (const int32_t id : marked_up("why" + std::string(kToResponse) + "{}" + kToEnd)) {
    if (tokenizer().is_control(id)) {
      ids.push_back(id);
      continue;
    }
    for (const char c : tokenizer().token_bytes(id))
      ids.push_back(tokenizer().encode(std::string_view(&c, 1))[0]);
  }
  EXPECT_EQ(allowed_tokens(*made(json_object()), ids), ids.size());
}

TEST(Constraint, ARequiredCallIsTheNamedToolWithItsNumber) {
  ConstraintSpec spec;
  spec.tool_choice = ConstraintSpec::ToolChoice::kRequired;
  spec.tools = {tool("f", R"({"properties":{"k":{"type":"string"},"n":{"type":"number"}},
                              "required":["n"]})")};
  const std::string head = "w" + std::string(kToResponse) + "text<|close|>response<|sep|>";
  const std::string call = "<|open|>call tool=\"f\" index=\"1\"<|sep|>";
  const std::string number =
      "<|open|>argument key=\"n\" type=\"number\"<|sep|>1.5<|close|>argument<|sep|>";
  EXPECT_TRUE(allows_all(spec, head + "<|open|>tools<|sep|>" + call + number +
                                   "<|open|>argument key=\"k\" type=\"string\"<|sep|>\"<x> {"
                                   "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools"
                                   "<|sep|><|close|>message<|sep|><|end_of_msg|>"));
  EXPECT_FALSE(allows_all(spec, head + "<|close|>")) << "a call is required";
  EXPECT_FALSE(allows_all(spec, head + "<|open|>tools<|sep|><|close|>"));
  EXPECT_FALSE(allows_all(spec, head + "<|open|>tools<|sep|><|open|>call tool=\"g"));
  EXPECT_FALSE(allows_all(spec, head + "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"2\""));
  EXPECT_FALSE(allows_all(spec, head + "<|open|>tools<|sep|>" + call + "<|close|>"))
      << "n is required";
  EXPECT_FALSE(allows_all(
      spec, head + "<|open|>tools<|sep|>" + call + number + "<|open|>argument key=\"n\""))
      << "given twice";
  EXPECT_FALSE(allows_all(spec, head + "<|open|>tools<|sep|>" + call +
                                    "<|open|>argument key=\"n\" type=\"number\"<|sep|>x"));
}

TEST(Constraint, AFreeChoiceIsNarrowedOnceToolsAreOpened) {
  ConstraintSpec spec;
  spec.tools = {tool("f", R"({"type":"object","properties":{"n":{"type":"integer"}},
                              "required":["n"],"additionalProperties":false})",
                     true)};
  EXPECT_TRUE(allows_all(spec, "why" + std::string(kToResponse) + "text" + kToEnd));
  EXPECT_TRUE(allows_all(spec, "why<|end_of_msg|>"));
  EXPECT_TRUE(allows_all(spec, "never closed <|close|>response<|sep|><|end_of_msg|>"));
  const std::string call = "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>";
  for (const std::string& before :
       {std::string(kToResponse) + "t<|close|>response<|sep|>",
        std::string("<|close|>think<|sep|>"), std::string("straight")}) {
    EXPECT_TRUE(allows_all(spec, before + call + "<|open|>argument key=\"n\" type=\"number\""));
    EXPECT_FALSE(allows_all(spec, before + call + "<|open|>argument key=\"x\""));
    EXPECT_FALSE(allows_all(spec, before + "<|open|>call")) << "only inside of the section";
  }
  spec.tools[0].strict = false;
  EXPECT_EQ(made(spec), nullptr);
}

TEST(Constraint, WithToolChoiceNoneThereIsNoCall) {
  ConstraintSpec spec;
  spec.tool_choice = ConstraintSpec::ToolChoice::kNone;
  spec.tools = {tool("f", "")};
  EXPECT_TRUE(allows_all(spec, "why" + std::string(kToResponse) + "text" + kToEnd));
  EXPECT_FALSE(allows_all(spec, "why<|open|>tools"));
  EXPECT_FALSE(allows_all(spec, "why<|close|>think<|sep|><|open|>call"));
}

TEST(Constraint, NothingIsNarrowedAfterTheEndOrAfterWhatWasNotAllowed) {
  std::vector<uint64_t> mask = empty_mask();
  const auto whole = made(json_object());
  for (const int32_t id : marked_up(std::string(kToResponse) + "{}" + kToEnd)) whole->accept(id);
  EXPECT_FALSE(whole->mask(mask));
  const auto broken = made(json_object());
  broken->accept(control("<|end_of_msg|>"));
  EXPECT_FALSE(broken->mask(mask));
}

TEST(Constraint, SchemasThatCannotBeFollowedAreNamed) {
  ConstraintSpec spec;
  spec.tool_choice = ConstraintSpec::ToolChoice::kRequired;
  spec.tools = {tool("f", ""), tool("broken", R"({"type":"objekt"})")};
  const auto refused = maker().make(spec);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("'broken'"), std::string::npos)
      << refused.status().to_string();
  spec.tool_choice = ConstraintSpec::ToolChoice::kAuto;
  spec.tools[0].strict = true;
  EXPECT_TRUE(maker().make(spec).ok()) << "only the strict one must be followed";
  spec.tools[1].strict = true;
  EXPECT_FALSE(maker().make(spec).ok());
  spec.tools.clear();
  spec.tool_choice = ConstraintSpec::ToolChoice::kRequired;
  EXPECT_FALSE(maker().make(spec).ok());
}

TEST(Constraint, ManyToolsAreNoTrouble) {
  for (const int count : {1, 22, 64, 200}) {
    ConstraintSpec spec;
    spec.tool_choice = ConstraintSpec::ToolChoice::kRequired;
    for (int i = 0; i < count; ++i)
      spec.tools.push_back(tool("tool_" + std::to_string(i),
                                R"({"properties":{"q":{"type":"string"}},"required":["q"]})"));
    const std::string last = "tool_" + std::to_string(count - 1);
    const std::string call =
        "\"<|sep|><|open|>argument key=\"q\" type=\"string\"<|sep|>v<|close|>"
        "argument<|sep|><|close|>call<|sep|>";
    EXPECT_TRUE(allows_all(spec, std::string(kToResponse) +
                                     "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call "
                                     "tool=\"" +
                                     last + "\" index=\"1" + call +
                                     "<|open|>call tool=\"tool_0\" index=\"2" + call +
                                     "<|close|>tools<|sep|>"));
  }
}

TEST(Constraint, HugeSchemasAreOneElement) {
  std::string properties;
  for (int i = 0; i < 3000; ++i)
    properties += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + R"(":{"$ref":"#/$defs/d"})";
  ConstraintSpec spec;
  spec.tool_choice = ConstraintSpec::ToolChoice::kRequired;
  spec.tools = {
      tool("f", R"({"$defs":{"d":{"type":"integer"}},"properties":{)" + properties + "}}")};
  const std::string head = std::string(kToResponse) +
                           "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" "
                           "index=\"1\"<|sep|><|open|>json type=\"object\"<|sep|>";
  EXPECT_TRUE(allows_all(spec, head + R"({"k2999": 12}<|close|>json<|sep|><|close|>call<|sep|>)"));
  EXPECT_FALSE(allows_all(spec, head + R"({"k2999": "a)"));
}

TEST(Constraint, OutputFollowsIt) {
  OutputOptions options;
  options.constraint = made(json_object());
  Output output(tokenizer(), options);
  std::vector<OutputEvent> events;
  std::vector<uint64_t> mask = empty_mask();
  for (const int32_t id : marked_up("w" + std::string(kToResponse) + "{}")) {
    EXPECT_TRUE(output.mask(mask));
    EXPECT_FALSE(output.push(id, &events));
  }
  EXPECT_TRUE(output.mask(mask));
  int allowed = 0;
  for (const uint64_t word : mask) allowed += std::popcount(word);
  EXPECT_EQ(allowed, 1) << "only <|close|>, unless blanks may follow";
}

}  // namespace
}  // namespace trine::server
