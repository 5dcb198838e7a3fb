// trine selfcheck: requests that share the model against the same requests alone, as a grid.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "common.h"
#include "json_text.h"
#include "model_options.h"
#include "number_options.h"
#include "progress.h"
#include "trine/selfcheck.h"
#include "verbs.h"

namespace trine::cli {
namespace {

struct SelfcheckVerb {
  ModelOptions model;
  SelfcheckRequest request;
  bool json = false;
};

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", seconds);
  return text;
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

int selfcheck_verb(const SelfcheckVerb& verb) {
  if (const int code = check_model_options(verb.model); code != kDone) return code;
  const int64_t needed = verb.request.prompt_tokens + verb.request.answer_tokens;
  if (const int64_t context = verb.model.load.context; context > 0 && context < needed) {
    return fail_usage("selfcheck", "--context " + std::to_string(context) +
                                       " holds less than a prompt and its answer, " +
                                       std::to_string(needed) + " tokens");
  }
  Progress loading("loading", Unit::kBytes, verb.model.quiet);
  SelfcheckRequest request = verb.request;
  request.load = verb.model.load;
  request.load.progress = [&](int64_t done, int64_t total) { loading.update(done, total); };
  request.started = [&](const std::string&) { loading.clear(); };
  const Result<std::vector<SelfcheckResult>> results = selfcheck(verb.model.folder, request);
  loading.clear();
  if (!results.ok()) return fail(results.status(), Blame::kOptions);

  bool passed = true;
  std::vector<std::string> rows;
  for (const SelfcheckResult& row : *results) {
    passed &= row.passed;
    rows.push_back(JsonObject()
                       .text("name", row.name)
                       .raw("passed", row.passed ? "true" : "false")
                       .text("detail", row.detail)
                       .raw("seconds", seconds_text(row.seconds))
                       .str());
    if (verb.json) continue;
    print_line(padded(row.name, 16) + (row.passed ? "same bits  " : "DIFFERENT  ") +
               padded(seconds_text(row.seconds) + " s", 10) + row.detail);
  }
  if (verb.json) {
    print_line(JsonObject()
                   .raw("passed", passed ? "true" : "false")
                   .raw("checks", json_array(rows))
                   .str());
  }
  return passed ? kDone : kRefused;
}

}  // namespace

void add_selfcheck(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<SelfcheckVerb>();
  CLI::App* verb = app->add_subcommand(
      "selfcheck", "Requests that share the model against the same alone, to the bit");
  verb->group(kCheckGroup);
  add_model_options(verb, &options->model);
  add_integer(verb, "--prompt-tokens", &options->request.prompt_tokens,
              "Tokens of the longest prompts", {.min = 16, .max = 100'000});
  add_integer(verb, "--answer-tokens", &options->request.answer_tokens, "Tokens of each answer",
              {.min = 1, .max = 10'000});
  add_integer(verb, "--seed", &options->request.seed, "Of the random prompts and schedules", {});
  verb->add_flag("--json", options->json,
                 R"({"passed", "checks": [{"name", "passed", "detail", "seconds"}]})");
  verb->footer("Example:\n  trine selfcheck models/k3-nano");
  set_action(verb, exit_code, [options] { return selfcheck_verb(*options); });
}

}  // namespace trine::cli
