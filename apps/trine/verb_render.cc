// trine render: a conversation to its prompt. trine parse: generated ids to a message.
#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "common.h"
#include "json.h"
#include "json_text.h"
#include "model_options.h"
#include "trine/chat.h"
#include "verbs.h"

namespace trine::cli {
namespace {

struct TextOptions {
  std::string folder;
  std::string file = "-";
  bool from_stdin = false;
  bool json = false;
  bool text_only = false;
  CLI::Option* file_option = nullptr;
};

/// The request of render and parse: FILE or stdin.
Result<std::string> read_request(const TextOptions& options) {
  return read_input(options.from_stdin ? "-" : options.file);
}

int check_source(const std::string& verb, const TextOptions& options) {
  const bool has_file = options.file_option->count() > 0;
  if (has_file && options.from_stdin) return fail_usage(verb, "give FILE or --stdin, not both");
  if (!has_file && !options.from_stdin && stdin_is_terminal()) {
    return fail_usage(verb, "give FILE, or the JSON on stdin");
  }
  return kDone;
}

int render(const TextOptions& options) {
  if (options.text_only && options.json) {
    return fail_usage("render", "--text is no JSON: give --text or --json");
  }
  if (const int code = check_source("render", options); code != kDone) return code;
  int exit_code = kDone;
  const std::optional<Tokenizer> tokenizer = load_tokenizer(options.folder, &exit_code);
  if (!tokenizer) return exit_code;
  const Result<std::string> request = read_request(options);
  if (!request.ok()) return fail(request.status());
  const Result<RenderedPrompt> prompt = render_chat(*tokenizer, *request);
  if (!prompt.ok()) return fail(prompt.status());
  if (options.text_only) {
    print(prompt->text);
  } else {
    print_line(JsonObject().text("text", prompt->text).raw("ids", json_array(prompt->ids)).str());
  }
  return kDone;
}

struct ParseRequest {
  std::vector<int32_t> ids;
  bool thinking = true;
};

Status bad_request(const std::string& message) {
  return Status(Code::kInvalidArgument,
                "parse: " + message + "; expected {\"ids\": [1, 2, 3], \"thinking\": true}");
}

Result<ParseRequest> parse_request(const std::string& text) {
  const auto root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) return bad_request("the input is not JSON");
  if (!root.is_object()) return bad_request("the input is no JSON object");
  ParseRequest request;
  for (const auto& [key, value] : root.items()) {
    if (key == "thinking" && value.is_boolean()) {
      request.thinking = value.get<bool>();
    } else if (key == "ids" && value.is_array()) {
      for (const auto& id : value) {
        if (!id.is_number_unsigned() ||
            id.get<uint64_t>() > uint64_t{std::numeric_limits<int32_t>::max()}) {
          return bad_request("ids: found " + id.dump() + ", expected token ids");
        }
        request.ids.push_back(id.get<int32_t>());
      }
    } else {
      return bad_request("found " + json_string(key) + " of type " + value.type_name());
    }
  }
  if (!root.contains("ids")) return bad_request("\"ids\" is absent");
  return request;
}

int parse(const TextOptions& options) {
  if (const int code = check_source("parse", options); code != kDone) return code;
  int exit_code = kDone;
  const std::optional<Tokenizer> tokenizer = load_tokenizer(options.folder, &exit_code);
  if (!tokenizer) return exit_code;
  const Result<std::string> text = read_request(options);
  if (!text.ok()) return fail(text.status());
  const Result<ParseRequest> request = parse_request(*text);
  if (!request.ok()) return fail(request.status());
  for (const int32_t id : request->ids) {
    if (id >= tokenizer->vocab_size()) {
      return fail(bad_request("ids: found " + std::to_string(id) + ", but the vocabulary ends at " +
                              std::to_string(tokenizer->vocab_size() - 1)));
    }
  }
  const ParsedMessage message = parse_chat(*tokenizer, request->ids, request->thinking);
  print_line(JsonObject()
                 .text("reasoning", message.reasoning)
                 .text("content", message.content)
                 .raw("tool_calls", json_tool_calls(message.tool_calls))
                 .str());
  return kDone;
}

void add_source(CLI::App* verb, TextOptions* options, const std::string& what) {
  add_folder(verb, &options->folder, "Checkpoint folder, or one with the tokenizer files alone");
  options->file_option = verb->add_option("FILE", options->file, what + " (default: stdin)");
  verb->add_flag("--stdin", options->from_stdin, "Take it from stdin");
  verb->add_flag("--json", options->json, "One JSON value (which it is anyway)");
}

}  // namespace

void add_render(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<TextOptions>();
  CLI::App* verb =
      app->add_subcommand("render", "A conversation to its prompt: {\"text\", \"ids\"}");
  verb->group(kTextGroup);
  add_source(verb, options.get(), "JSON: {\"messages\", \"tools\", \"options\"}");
  verb->add_flag("--text", options->text_only, "Print the prompt's text alone");
  verb->footer(
      "Example:\n"
      "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' |\n"
      "      trine render models/k3-nano --text\n"
      "Options: add_generation_prompt, thinking, thinking_effort, tool_choice,\n"
      "response_format, response_schema, image_prompts.");
  set_action(verb, exit_code, [options] { return render(*options); });
}

void add_parse(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<TextOptions>();
  CLI::App* verb = app->add_subcommand(
      "parse", "Generated ids to a message: {\"reasoning\", \"content\", \"tool_calls\"}");
  verb->group(kTextGroup);
  add_source(verb, options.get(), "JSON: {\"ids\": [...], \"thinking\": true|false}");
  verb->footer(
      "\"thinking\" says whether the prompt ended inside an open reasoning channel.\n"
      "Example:\n"
      "  echo '{\"ids\": [39, 72], \"thinking\": false}' | trine parse models/k3-nano");
  set_action(verb, exit_code, [options] { return parse(*options); });
}

}  // namespace trine::cli
