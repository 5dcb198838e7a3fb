// trine synth: a random checkpoint of any shape, to size a machine before a download.
#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>
#include <memory>

#include "common.h"
#include "json_text.h"
#include "model_options.h"
#include "number_options.h"
#include "progress.h"
#include "trine/toolkit.h"
#include "verbs.h"

namespace trine::cli {
namespace {

struct SynthVerb {
  std::string like;
  std::string shape_file;
  std::string preset;
  std::string out;
  uint64_t seed = 1;
  int64_t shard_bytes = SynthOptions{}.shard_bytes;
  bool quiet = false;
  bool json = false;
};

int synth_verb(const SynthVerb& verb) {
  const int sources =
      int{!verb.like.empty()} + int{!verb.shape_file.empty()} + int{!verb.preset.empty()};
  if (sources != 1) return fail_usage("synth", "give one of --like, --shape and --preset");
  SynthOptions options;
  options.like = verb.like;
  options.out = verb.out;
  options.seed = verb.seed;
  options.shard_bytes = verb.shard_bytes;
  if (!verb.shape_file.empty()) {
    Result<std::string> shape = read_input(verb.shape_file);
    if (!shape.ok()) return fail(shape.status());
    options.shape_json = std::move(shape).value();
  }
  if (!verb.preset.empty()) options.shape_json = JsonObject().text("preset", verb.preset).str();
  Progress progress("writing", Unit::kBytes, verb.quiet);
  options.progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
  const Status status = synth(options);
  progress.clear();
  if (!status.ok()) return fail(status, verb.preset.empty() ? Blame::kInput : Blame::kOptions);
  if (verb.json) print_line(JsonObject().text("out", verb.out).str());
  if (!verb.quiet && !verb.json)
    std::cerr << verb.out << ": written; 'trine inspect " << verb.out << "'\n";
  return kDone;
}

}  // namespace

void add_synth(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<SynthVerb>();
  CLI::App* verb = app->add_subcommand("synth", "Write a random checkpoint of any shape");
  verb->group(kCheckGroup);
  verb->add_option("DST", options->out, "Folder to create")->required();
  verb->add_option("--like", options->like, "Shape and format of this checkpoint's config")
      ->type_name("MODEL");
  verb->add_option("--shape", options->shape_file, "JSON: {\"preset\": ..., config overrides}")
      ->type_name("FILE");
  verb->add_option("--preset", options->preset,
                   "A known shape: tiny, tiny-linear, bench4g, mini, k3 or kimi-linear")
      ->type_name("NAME");
  add_integer(verb, "--seed", &options->seed, "Same shape and seed, same bytes",
              {.max = std::numeric_limits<uint64_t>::max()});
  add_integer(verb, "--shard-bytes", &options->shard_bytes, "Largest file, e.g. 512M",
              {.min = 1, .units = "KMGT"})
      ->default_str("4G");
  verb->add_flag("-q,--quiet", options->quiet, "Nothing on stderr but errors");
  verb->add_flag("--json", options->json, "{\"out\"} on stdout: the folder written");
  verb->footer("Example:\n  trine synth --like models/k3-nano random-nano --seed 7");
  set_action(verb, exit_code, [options] { return synth_verb(*options); });
}

}  // namespace trine::cli
