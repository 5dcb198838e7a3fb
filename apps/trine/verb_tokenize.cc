// trine tokenize: text to ids. trine detokenize: ids to text.
#include <CLI/CLI.hpp>
#include <memory>

#include "common.h"
#include "ids_options.h"
#include "json_text.h"
#include "model_options.h"
#include "verbs.h"

namespace trine::cli {
namespace {

constexpr const char* kFolderHelp = "Checkpoint folder, or one with the tokenizer files alone";

struct TokenizeOptions {
  std::string folder;
  std::string text;
  bool from_stdin = false;
  bool special = false;
  bool json = false;
  CLI::Option* text_option = nullptr;
};

int tokenize(const TokenizeOptions& options) {
  const bool has_text = options.text_option->count() > 0;
  if (has_text && options.from_stdin) {
    return fail_usage("tokenize", "give TEXT or --stdin, not both");
  }
  if (!has_text && !options.from_stdin && stdin_is_terminal()) {
    return fail_usage("tokenize", "give TEXT, or --stdin to read it from the input");
  }
  int exit_code = kDone;
  const std::optional<Tokenizer> tokenizer = load_tokenizer(options.folder, &exit_code);
  if (!tokenizer) return exit_code;
  const std::string text = has_text ? options.text : read_stdin();
  print_line(json_array(tokenizer->encode(text, options.special)));
  return kDone;
}

struct DetokenizeOptions {
  std::string folder;
  bool from_stdin = false;
  bool json = false;
  CLI::Option* ids_option = nullptr;  ///< the first word of ids; the others are left over
  CLI::App* verb = nullptr;
};

// All words of ids. A single option would do, but then CLI11 takes '[]' for no word at all.
std::string ids_given(const DetokenizeOptions& options, std::string* unexpected) {
  std::string list = options.ids_option->as<std::string>();
  for (const std::string& word : options.verb->remaining()) {
    const bool is_option = word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9');
    if (is_option && unexpected->empty()) *unexpected = word;
    list += " " + word;
  }
  return list;
}

int detokenize(const DetokenizeOptions& options) {
  const bool has_ids = options.ids_option->count() > 0;
  if (has_ids && options.from_stdin) {
    return fail_usage("detokenize", "give IDS or --stdin, not both");
  }
  std::string unexpected;
  const std::string list = has_ids ? ids_given(options, &unexpected) : std::string();
  if (!unexpected.empty()) {
    return fail_usage("detokenize", "The following argument was not expected: " + unexpected);
  }
  if (!has_ids && !options.from_stdin && stdin_is_terminal()) {
    return fail_usage("detokenize", "give IDS, or --stdin to read them from the input");
  }
  int exit_code = kDone;
  const std::optional<Tokenizer> tokenizer = load_tokenizer(options.folder, &exit_code);
  if (!tokenizer) return exit_code;
  const Result<std::vector<int32_t>> ids =
      has_ids ? parse_ids(list, "IDS") : parse_ids(read_stdin(), "stdin");
  if (!ids.ok()) return fail(ids.status(), has_ids ? Blame::kOptions : Blame::kInput);
  const Result<std::string> text =
      options.json ? tokenizer->decode(*ids) : tokenizer->decode_bytes(*ids);
  if (!text.ok()) return fail(text.status());
  if (options.json) {
    print_line(JsonObject().text("text", *text).str());
  } else {
    print(*text);
  }
  return kDone;
}

}  // namespace

void add_tokenize(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* verb = app->add_subcommand("tokenize", "Text to token ids, as a JSON array");
  verb->group(kTextGroup);
  add_folder(verb, &options->folder, kFolderHelp);
  options->text_option = verb->add_option("TEXT", options->text, "The text");
  verb->add_flag("--stdin", options->from_stdin, "Take the text from stdin, byte for byte");
  verb->add_flag("--special", options->special,
                 "Let control tokens such as <|open|> be recognised");
  verb->add_flag("--json", options->json, "One JSON value (which it is anyway)");
  verb->footer("Example:\n  trine tokenize models/k3-nano 'Hello, world!'");
  set_action(verb, exit_code, [options] { return tokenize(*options); });
}

void add_detokenize(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<DetokenizeOptions>();
  CLI::App* verb = app->add_subcommand("detokenize", "Token ids to text, byte for byte");
  verb->group(kTextGroup);
  add_folder(verb, &options->folder, kFolderHelp);
  options->verb = verb->allow_extras();
  options->ids_option = verb->add_option_function<std::string>(
      "IDS", [](const std::string&) {}, "Ids: 1 2 3, 1,2,3 or '[1,2,3]'");
  options->ids_option->type_name("N ...");
  verb->add_flag("--stdin", options->from_stdin, "Take the ids (a JSON array) from stdin");
  verb->add_flag("--json", options->json, "{\"text\": ...}, with U+FFFD for what is not UTF-8");
  verb->footer(
      "Example:\n  trine tokenize models/k3-nano 'Hello' | trine detokenize models/k3-nano");
  set_action(verb, exit_code, [options] { return detokenize(*options); });
}

}  // namespace trine::cli
