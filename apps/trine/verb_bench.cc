// trine bench: how fast a model runs here, beside what the machine could do.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "common.h"
#include "model_options.h"
#include "number_options.h"
#include "progress.h"
#include "trine/toolkit.h"
#include "verbs.h"

namespace trine::cli {
namespace {

constexpr uint64_t kSizeMax = uint64_t{1} << 31;
constexpr uint64_t kBatchMax = 4096;

struct BenchVerb {
  ModelOptions model;
  BenchOptions bench;
  bool no_busy = false;
  bool json = false;
};

int bench_verb(const BenchVerb& verb) {
  if (const int code = check_model_options(verb.model); code != kDone) return code;
  BenchOptions options = verb.bench;
  options.load = verb.model.load;
  options.busy = !verb.no_busy;
  Progress loading("loading", Unit::kBytes, verb.model.quiet);
  options.load.progress = [&](int64_t done, int64_t total) { loading.update(done, total); };
  options.progress = [&](const std::string& line) {
    loading.clear();
    if (!verb.model.quiet) std::cerr << line << "\n";
  };
  const Result<BenchReport> report = bench(verb.model.folder, options);
  loading.clear();
  if (!report.ok()) return fail(report.status(), Blame::kOptions);
  if (verb.json) {
    print_line(report->json);
  } else {
    print(report->text);
    if (!report->text.ends_with('\n')) print("\n");
  }
  return kDone;
}

}  // namespace

void add_bench(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<BenchVerb>();
  CLI::App* verb = app->add_subcommand("bench", "Measure speed and memory, and the roof of both");
  verb->group(kCheckGroup);
  add_model_options(verb, &options->model);
  BenchOptions* bench = &options->bench;
  const std::string group = "Sizes";
  const IntegerRule size{.min = 1, .max = kSizeMax};
  add_integers(verb, "--prefill", &bench->prefill_tokens, "Lengths of prompts", size)->group(group);
  add_integers(verb, "--depth", &bench->decode_depths, "Tokens before decoding", {.max = kSizeMax})
      ->group(group);
  add_integers(verb, "--batch", &bench->batches, "Sequences decoded at once",
               {.min = 1, .max = kBatchMax})
      ->group(group);
  add_integer(verb, "--tokens", &bench->decode_tokens, "Tokens decoded per measurement", size)
      ->group(group);
  add_integer(verb, "--repeats", &bench->repeats, "Measurements of each size; the median counts",
              {.min = 1, .max = 1000})
      ->group(group);
  verb->add_flag("--no-busy", options->no_busy, "Leave out the run beside a busy process")
      ->group(group);
  verb->add_flag("--json", options->json, "The report as one JSON value");
  verb->footer(
      "Example:\n"
      "  trine bench models/k3-nano --prefill 128 --depth 0,1024 --batch 1,4 --no-busy");
  set_action(verb, exit_code, [options] { return bench_verb(*options); });
}

}  // namespace trine::cli
