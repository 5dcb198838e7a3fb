// trine generate: ids in, the greedy continuation's ids out.
#include <CLI/CLI.hpp>
#include <memory>

#include "common.h"
#include "ids_options.h"
#include "interrupt.h"
#include "json_text.h"
#include "model_options.h"
#include "number_options.h"
#include "progress.h"
#include "trine/generate.h"
#include "verbs.h"

namespace trine::cli {
namespace {

struct GenerateVerb {
  ModelOptions model;
  IdsOptions prompt;
  int64_t max_tokens = 32;
  bool stop_at_eos = false;
  bool json = false;
};

GenerateOptions generate_options(const GenerateVerb& verb, const Model& model, Progress* progress) {
  GenerateOptions options;
  options.max_tokens = verb.max_tokens;
  if (verb.stop_at_eos) {
    for (const int64_t id : model.eos_token_ids()) {
      options.stop_ids.push_back(static_cast<int32_t>(id));
    }
  }
  options.on_prefill = [progress](int64_t done, int64_t total) {
    progress->update(done, total);
    return !InterruptGuard::interrupted();
  };
  options.on_token = [json = verb.json, first = true, progress](int32_t id) mutable {
    progress->clear();
    if (!json) print((first ? "" : " ") + std::to_string(id));
    first = false;
    return !InterruptGuard::interrupted();
  };
  return options;
}

int generate_verb(const GenerateVerb& verb) {
  int exit_code = kDone;
  std::vector<int32_t> ids;
  if (!read_ids(verb.prompt, &ids, &exit_code)) return exit_code;
  const std::optional<Model> model = load_model(verb.model, &exit_code);
  if (!model) return exit_code;
  if (const Status room = check_room(*model, 0, std::ssize(ids)); !room.ok()) return fail(room);
  Result<Sequence> sequence = model->new_sequence();
  if (!sequence.ok()) return fail(sequence.status());
  const InterruptGuard guard;
  Sampler sampler{SamplingOptions{}};
  Progress progress("reading the prompt", Unit::kTokens, verb.model.quiet);
  const Result<Generation> generation =
      generate(*model, &*sequence, &sampler, ids, generate_options(verb, *model, &progress));
  if (!generation.ok()) return fail(generation.status());
  if (!verb.json) print("\n");
  if (verb.json) print_line(JsonObject().raw("ids", json_array(generation->ids)).str());
  return InterruptGuard::interrupted() ? kInterrupted : kDone;
}

}  // namespace

void add_generate(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<GenerateVerb>();
  CLI::App* verb = app->add_subcommand("generate", "Greedy continuation of token ids, as ids");
  verb->group(kCompareGroup);
  add_model_options(verb, &options->model);
  add_ids_options(verb, &options->prompt);
  add_integer(verb, "--max-tokens", &options->max_tokens, "Ids to generate", {.min = 1});
  verb->add_flag("--stop-at-eos", options->stop_at_eos, "End after an end-of-sequence id");
  verb->add_flag("--json", options->json, "{\"ids\": [...]}: the generated ids, not the prompt's");
  verb->footer(
      "Example:\n  trine generate models/k3-nano --ids 3843,284,320 --max-tokens 8 --json");
  set_action(verb, exit_code, [options] { return generate_verb(*options); });
}

}  // namespace trine::cli
