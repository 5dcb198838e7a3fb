// trine chat: a conversation whose state is kept from turn to turn.
#include <CLI/CLI.hpp>
#include <memory>

#include "chat_room.h"
#include "common.h"
#include "model_options.h"
#include "verbs.h"

namespace trine::cli {
namespace {

struct ChatOptions {
  ModelOptions model;
  AnswerOptions answer;
  std::string system;
  std::string tools_file;
  std::string load_file;
  std::string think;
  bool no_history = false;
};

Result<Conversation> first_conversation(const ChatOptions& options) {
  Conversation conversation;
  Status status;
  if (!options.load_file.empty()) {
    const Result<std::string> text = read_input(options.load_file);
    std::vector<std::string> ignored;
    status = text.ok() ? conversation.read(*text, options.load_file, &ignored) : text.status();
    if (!status.ok()) return status;
  }
  if (!options.tools_file.empty()) {
    const Result<std::string> text = read_input(options.tools_file);
    status = text.ok() ? conversation.set_tools(*text, options.tools_file) : text.status();
    if (!status.ok()) return status;
  }
  if (!options.system.empty()) conversation.set_system(options.system);
  if (!options.think.empty()) conversation.set_thinking(options.think);
  return conversation;
}

int chat(ChatOptions options) {
  int exit_code = check_model_options(options.model);
  if (exit_code != kDone) return exit_code;
  const std::optional<Tokenizer> tokenizer = load_tokenizer(options.model.folder, &exit_code, true);
  if (!tokenizer) return exit_code;
  Result<Conversation> conversation = first_conversation(options);
  if (!conversation.ok()) return fail(conversation.status());
  // What cannot be rendered is refused before the weights are read.
  if (const auto prompt = conversation->prompt(*tokenizer); !prompt.ok()) {
    return fail(prompt.status());
  }
  const std::optional<Model> model = load_model(options.model, &exit_code);
  if (!model) return exit_code;
  Result<Sequence> sequence = model->new_sequence();
  if (!sequence.ok()) return fail(sequence.status());
  options.answer.quiet = options.model.quiet;
  ChatRoom room(*model, *tokenizer, std::move(sequence).value(), std::move(conversation).value(),
                options.answer, !options.no_history);
  return room.run();
}

}  // namespace

void add_chat(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* verb = app->add_subcommand("chat", "A conversation; state is kept between turns");
  verb->group(kUseGroup);
  add_model_options(verb, &options->model);
  const std::string group = "Prompt";
  verb->add_option("--system", options->system, "System message")->type_name("TEXT")->group(group);
  verb->add_option("--tools", options->tools_file, "JSON array of tools")
      ->type_name("FILE")
      ->group(group);
  verb->add_option("--load", options->load_file, "Continue a conversation written by /save")
      ->type_name("FILE")
      ->group(group);
  add_think_option(verb, &options->think)->group(group);
  add_sampling_options(verb, &options->answer);
  verb->add_flag("--no-history", options->no_history, "Do not keep typed lines between sessions");
  verb->footer(
      "Commands: /system /tools /think /save /load /stats /reset /help /exit. Lines from a pipe\n"
      "are messages and commands as well. After a tool call the next line is the tool's result.\n"
      "Example:\n  trine chat models/k3-nano --system 'Answer briefly.'");
  set_action(verb, exit_code, [options] { return chat(*options); });
}

}  // namespace trine::cli
