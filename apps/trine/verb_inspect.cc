// trine inspect: whether a checkpoint is whole, what is in it and what it costs to run.
#include <CLI/CLI.hpp>
#include <memory>

#include "common.h"
#include "model_options.h"
#include "trine/toolkit.h"
#include "verbs.h"

namespace trine::cli {
namespace {

struct InspectVerb {
  ModelOptions model;
  bool no_scan = false;
  bool checksums = false;
  bool json = false;
};

int inspect_verb(const InspectVerb& verb) {
  if (const int code = check_model_options(verb.model); code != kDone) return code;
  InspectOptions options;
  options.scan = !verb.no_scan;
  options.checksums = verb.checksums;
  options.isa = verb.model.load.isa;
  options.int8_inputs = verb.model.load.int8_inputs;
  const Result<InspectReport> report = inspect(verb.model.folder, options);
  if (!report.ok()) return fail(report.status());
  if (verb.json) {
    print_line(report->json);
  } else {
    print(report->text);
    if (!report->text.ends_with('\n')) print("\n");
  }
  if (report->only_environment) return kEnvironment;
  return report->has_errors ? kRefused : kDone;
}

}  // namespace

void add_inspect(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<InspectVerb>();
  CLI::App* verb =
      app->add_subcommand("inspect", "Is a checkpoint whole, what is in it, what does it cost");
  verb->group(kCheckGroup);
  add_folder(verb, &options->model.folder, "Checkpoint folder; config and index alone will do");
  verb->add_flag("--checksums", options->checksums, "SHA-256 of every file");
  verb->add_flag("--no-scan", options->no_scan, "Do not read the scales of quantised weights");
  verb->add_flag("--int8", options->model.load.int8_inputs,
                 "Judge memory and support for a run with --int8");
  add_isa_option(verb, &options->model,
                 "Judge the support for this instruction set (default: TRINE_ISA, or the best)");
  verb->add_flag("--json", options->json, "The report as one JSON value");
  verb->footer(
      "Exit code 0: whole (or not downloaded yet), 1: findings, 3: files that cannot be read.\n"
      "Example:\n  trine inspect models/k3-nano");
  set_action(verb, exit_code, [options] { return inspect_verb(*options); });
}

}  // namespace trine::cli
