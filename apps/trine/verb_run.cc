// trine run: one prompt, one answer, streamed.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>

#include "answer.h"
#include "answer_writer.h"
#include "common.h"
#include "conversation.h"
#include "interrupt.h"
#include "model_options.h"
#include "verbs.h"

namespace trine::cli {
namespace {

struct RunOptions {
  ModelOptions model;
  AnswerOptions answer;
  std::string prompt;
  std::string system;
  std::string tools_file;
  std::string messages_file;
  std::string think;
  bool special = false;
  bool json = false;
  CLI::Option* prompt_option = nullptr;
};

// The prompt of the command line, or of stdin when it is absent or "-".
Result<std::string> prompt_text(const RunOptions& options) {
  if (options.prompt_option->count() > 0 && options.prompt != "-") return options.prompt;
  Result<std::string> text = read_input("-");
  // As a shell takes $(command): the line's end is not part of the question. Raw text is verbatim.
  if (text.ok() && !options.answer.raw && text->ends_with('\n')) text->pop_back();
  return text;
}

Status read_messages(const RunOptions& options, Conversation* conversation) {
  Result<std::string> text = read_input(options.messages_file);
  if (!text.ok()) return text.status();
  std::vector<std::string> ignored;
  Status status = conversation->read(*text, options.messages_file, &ignored);
  if (status.ok() && !options.model.quiet) {
    for (const std::string& key : ignored) {
      std::cerr << "trine run: " << options.messages_file << ": \"" << key
                << "\" is not taken from the file, only from options\n";
    }
  }
  return status;
}

Result<Conversation> build_conversation(const RunOptions& options) {
  Conversation conversation;
  const bool from_messages = !options.messages_file.empty();
  if (from_messages) {
    if (Status status = read_messages(options, &conversation); !status.ok()) return status;
  }
  if (!options.system.empty()) conversation.set_system(options.system);
  if (!options.tools_file.empty()) {
    Result<std::string> tools = read_input(options.tools_file);
    if (!tools.ok()) return tools.status();
    const Status status = conversation.set_tools(*tools, options.tools_file);
    if (!status.ok()) return status;
  }
  if (!options.think.empty()) conversation.set_thinking(options.think);
  if (!from_messages || options.prompt_option->count() > 0) {
    Result<std::string> prompt = prompt_text(options);
    if (!prompt.ok()) return prompt.status();
    if (prompt->empty()) {
      return Status(Code::kInvalidArgument, "the prompt is empty; give a text to answer");
    }
    conversation.add("user", *prompt);
  }
  return conversation;
}

// Ids of the prompt; `thinking` is left in options->answer.
Result<std::vector<int32_t>> prompt_ids(const Tokenizer& tokenizer, RunOptions* options) {
  if (options->answer.raw) {
    Result<std::string> text = prompt_text(*options);
    if (!text.ok()) return text.status();
    std::vector<int32_t> ids = tokenizer.encode(*text, options->special);
    if (ids.empty()) return Status(Code::kInvalidArgument, "the prompt is empty; give a text");
    return ids;
  }
  Result<Conversation> conversation = build_conversation(*options);
  if (!conversation.ok()) return conversation.status();
  options->answer.thinking = conversation->thinking();
  Result<RenderedPrompt> prompt = conversation->prompt(tokenizer);
  if (!prompt.ok()) return prompt.status();
  return std::move(prompt->ids);
}

int check_usage(const RunOptions& options) {
  const bool chat_options = !options.system.empty() || !options.tools_file.empty() ||
                            !options.messages_file.empty() || !options.think.empty();
  if (options.answer.raw && chat_options) {
    return fail_usage("run",
                      "--raw has no chat template: --system, --tools, --messages and "
                      "--think do not go with it");
  }
  if (options.special && !options.answer.raw) {
    return fail_usage("run", "--special goes with --raw only: text in a chat is never control");
  }
  const bool needs_stdin = options.prompt_option->count() == 0 && options.messages_file.empty();
  if (needs_stdin && stdin_is_terminal()) {
    return fail_usage("run", "give a PROMPT, or pipe it in ('trine chat' is for conversations)");
  }
  return kDone;
}

int run(RunOptions options) {
  if (const int code = check_usage(options); code != kDone) return code;
  int exit_code = check_model_options(options.model);
  if (exit_code != kDone) return exit_code;
  // Everything that can be refused is refused before the weights are read.
  const std::optional<Tokenizer> tokenizer = load_tokenizer(options.model.folder, &exit_code, true);
  if (!tokenizer) return exit_code;
  const Result<std::vector<int32_t>> ids = prompt_ids(*tokenizer, &options);
  if (!ids.ok()) return fail(ids.status());

  const auto start = std::chrono::steady_clock::now();
  const std::optional<Model> model = load_model(options.model, &exit_code);
  if (!model) return exit_code;
  const double load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Result<Sequence> sequence = model->new_sequence();
  if (!sequence.ok()) return fail(sequence.status());

  const InterruptGuard guard;
  Sampler sampler(options.answer.sampling);
  options.answer.stream = !options.json;
  options.answer.quiet = options.model.quiet;
  const Result<Answer> result =
      answer(*model, *tokenizer, &*sequence, &sampler, *ids, options.answer);
  if (!result.ok()) return fail(result.status());
  if (options.json) {
    print_line(answer_json(*model, *result, options.model.load.precision, load_seconds));
  } else if (!options.model.quiet) {
    if (result->finish_reason == "length") {
      std::cerr << dimmed("[stopped at the length limit; see --max-tokens and --context]") << "\n";
    }
    std::cerr << dimmed(statistics_text(*model, result->generation, load_seconds));
  }
  return result->finish_reason == "interrupted" ? kInterrupted : kDone;
}

}  // namespace

void add_run(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app->add_subcommand("run", "Answer one prompt");
  verb->group(kUseGroup);
  add_model_options(verb, &options->model);
  options->prompt_option =
      verb->add_option("PROMPT", options->prompt, "The question (absent or '-': from stdin)");
  const std::string group = "Prompt";
  verb->add_option("--system", options->system, "System message")->type_name("TEXT")->group(group);
  verb->add_option("--tools", options->tools_file, "JSON array of tools")
      ->type_name("FILE")
      ->group(group);
  verb->add_option("--messages", options->messages_file,
                   "JSON array of messages, or an OpenAI chat request")
      ->type_name("FILE")
      ->group(group);
  add_think_option(verb, &options->think)->group(group);
  verb->add_flag("--raw", options->answer.raw, "Continue the text as it stands: no chat template")
      ->group(group);
  verb->add_flag("--special", options->special, "With --raw: control tokens in the text count")
      ->group(group);
  add_sampling_options(verb, &options->answer);
  verb->add_option("--stop", options->answer.stops,
                   "End the answer before this text (may be given several times)")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        return text.empty() ? std::string("found an empty text, expected at least one character")
                            : std::string();
      })
      ->type_name("TEXT")
      ->group("Sampling");
  verb->add_flag("--json", options->json, "One JSON value instead of streamed text");
  verb->footer(
      "The answer goes to stdout, tool calls as lines of JSON; the reasoning and the statistics\n"
      "go to stderr. Ctrl-C ends the answer (exit code 130).\n"
      "Example:\n  trine run models/k3-nano 'What is KDA?'");
  set_action(verb, exit_code, [options] { return run(*options); });
}

}  // namespace trine::cli
