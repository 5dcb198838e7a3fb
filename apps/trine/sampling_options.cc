// Options of how an answer's tokens are chosen.
#include <CLI/CLI.hpp>

#include "answer.h"
#include "model_options.h"

namespace trine::cli {

void add_sampling_options(CLI::App* app, AnswerOptions* options) {
  const std::string group = "Sampling";
  SamplingOptions* sampling = &options->sampling;
  app->add_option("--max-tokens", options->max_tokens, "Tokens of an answer, reasoning included")
      ->check(unprinted(CLI::PositiveNumber))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  app->add_option("--temperature", sampling->temperature, "0 = the most likely token, always")
      ->check(unprinted(CLI::Range(0.0, 100.0)))
      ->default_str("0")
      ->type_name("T")
      ->group(group);
  app->add_option("--top-p", sampling->top_p, "Smallest set of tokens with this probability")
      ->check(unprinted(CLI::Range(0.0, 1.0)))
      ->default_str("1")
      ->type_name("P")
      ->group(group);
  app->add_option("--top-k", sampling->top_k, "The K most likely tokens; 0 = all")
      ->check(unprinted(CLI::NonNegativeNumber))
      ->default_str("0")
      ->type_name("K")
      ->group(group);
  app->add_option("--min-p", sampling->min_p, "Tokens at least P times as likely as the best")
      ->check(unprinted(CLI::Range(0.0, 1.0)))
      ->default_str("0")
      ->type_name("P")
      ->group(group);
  app->add_option("--seed", sampling->seed, "Same seed, same answer")
      ->check(unprinted(CLI::NonNegativeNumber))
      ->default_str("0")
      ->type_name("N")
      ->group(group);
}

}  // namespace trine::cli
