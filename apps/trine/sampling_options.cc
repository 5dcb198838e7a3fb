// Options of an answer: how much it reasons, how its tokens are chosen.
#include <CLI/CLI.hpp>

#include "answer.h"
#include "conversation.h"
#include "model_options.h"
#include "number_options.h"

namespace trine::cli {

CLI::Option* add_think_option(CLI::App* app, std::string* level) {
  return add_choice(app, "--think",
                    "How much to reason: none, on (no effort named), low, medium, high, max "
                    "(default: max)",
                    think_levels(), [level](const std::string& name) { *level = name; })
      ->type_name("LEVEL");
}

void add_sampling_options(CLI::App* app, AnswerOptions* options) {
  const std::string group = "Sampling";
  SamplingOptions* sampling = &options->sampling;
  add_integer(app, "--max-tokens", &options->max_tokens, "Tokens of an answer, reasoning included",
              {.min = 1})
      ->group(group);
  add_real(app, "--temperature", &sampling->temperature, "0 = the most likely token, always", 0,
           100)
      ->type_name("T")
      ->group(group);
  add_real(app, "--top-p", &sampling->top_p, "Smallest set of tokens with this probability", 0, 1)
      ->type_name("P")
      ->group(group);
  add_integer(app, "--top-k", &sampling->top_k, "The K most likely tokens; 0 = all", {})
      ->type_name("K")
      ->group(group);
  add_real(app, "--min-p", &sampling->min_p, "Tokens at least P times as likely as the best", 0, 1)
      ->type_name("P")
      ->group(group);
  add_integer(app, "--seed", &sampling->seed, "Same seed, same answer",
              {.max = std::numeric_limits<uint64_t>::max()})
      ->group(group);
}

}  // namespace trine::cli
