// trine bench: how fast a model runs here, beside what the machine could do.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "common.h"
#include "model_options.h"
#include "progress.h"
#include "trine/toolkit.h"
#include "verbs.h"

namespace trine::cli {
namespace {

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
  const auto add_list = [&](const char* name, std::vector<int64_t>* values, const char* help,
                            const CLI::Validator& check) {
    verb->add_option(name, *values, help)
        ->delimiter(',')
        ->check(unprinted(check))
        ->capture_default_str()
        ->type_name("N,N,...")
        ->group(group);
  };
  add_list("--prefill", &bench->prefill_tokens, "Lengths of prompts", CLI::PositiveNumber);
  add_list("--depth", &bench->decode_depths, "Tokens before decoding", CLI::NonNegativeNumber);
  add_list("--batch", &bench->batches, "Sequences decoded at once", CLI::PositiveNumber);
  verb->add_option("--tokens", bench->decode_tokens, "Tokens decoded per measurement")
      ->check(unprinted(CLI::PositiveNumber))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  verb->add_option("--repeats", bench->repeats, "Measurements of each size; the median counts")
      ->check(unprinted(CLI::PositiveNumber))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  verb->add_flag("--no-busy", options->no_busy, "Leave out the run beside a busy process")
      ->group(group);
  verb->add_flag("--json", options->json, "The report as one JSON value");
  verb->footer(
      "Example:\n"
      "  trine bench models/k3-nano --prefill 128 --depth 0,1024 --batch 1,4 --no-busy");
  verb->callback([options, exit_code] { *exit_code = bench_verb(*options); });
}

}  // namespace trine::cli
