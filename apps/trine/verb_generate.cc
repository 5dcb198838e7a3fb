// trine generate: ids in, the greedy continuation's ids out.
#include <CLI/CLI.hpp>
#include <memory>

#include "common.h"
#include "interrupt.h"
#include "json_text.h"
#include "model_options.h"
#include "progress.h"
#include "trine/generate.h"
#include "verbs.h"

namespace trine::cli {
namespace {

struct GenerateVerb {
  ModelOptions model;
  std::string ids;
  std::string ids_file;
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
  const Result<std::vector<int32_t>> ids = ids_from(verb.ids, verb.ids_file);
  if (!ids.ok()) return fail(ids.status(), verb.ids_file.empty() ? Blame::kOptions : Blame::kInput);
  int exit_code = kDone;
  const std::optional<Model> model = load_model(verb.model, &exit_code);
  if (!model) return exit_code;
  if (const Status room = check_context(*model, 0, std::ssize(*ids)); !room.ok()) return fail(room);
  Result<Sequence> sequence = model->new_sequence();
  if (!sequence.ok()) return fail(sequence.status());
  const InterruptGuard guard;
  Sampler sampler{SamplingOptions{}};
  Progress progress("reading the prompt", Unit::kTokens, verb.model.quiet);
  const Result<Generation> generation =
      generate(*model, &*sequence, &sampler, *ids, generate_options(verb, *model, &progress));
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
  verb->add_option("--ids", options->ids, "The prompt: 1,2,3")->type_name("IDS");
  verb->add_option("--ids-file", options->ids_file, "The prompt from a file ('-': stdin)")
      ->type_name("FILE");
  verb->add_option("--max-tokens", options->max_tokens, "Ids to generate")
      ->check(unprinted(CLI::PositiveNumber))
      ->capture_default_str()
      ->type_name("N");
  verb->add_flag("--stop-at-eos", options->stop_at_eos, "End after an end-of-sequence id");
  verb->add_flag("--json", options->json, "{\"ids\": [...]}: the generated ids, not the prompt's");
  verb->footer(
      "Example:\n  trine generate models/k3-nano --ids 3843,284,320 --max-tokens 8 --json");
  verb->callback([options, exit_code] { *exit_code = generate_verb(*options); });
}

}  // namespace trine::cli
