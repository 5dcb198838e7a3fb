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
  std::string folder;
  std::string isa;
  bool no_scan = false;
  bool checksums = false;
  bool json = false;
};

int inspect_verb(const InspectVerb& verb) {
  ModelOptions model;
  model.folder = verb.folder;
  model.load.isa = verb.isa;
  if (const int code = check_model_options(model); code != kDone) return code;
  InspectOptions options;
  options.scan = !verb.no_scan;
  options.checksums = verb.checksums;
  options.isa = verb.isa;
  const Result<InspectReport> report = inspect(verb.folder, options);
  if (!report.ok()) return fail(report.status());
  if (verb.json) {
    print_line(report->json);
  } else {
    print(report->text);
    if (!report->text.ends_with('\n')) print("\n");
  }
  return report->has_errors ? kRefused : kDone;
}

}  // namespace

void add_inspect(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<InspectVerb>();
  CLI::App* verb =
      app->add_subcommand("inspect", "Is a checkpoint whole, what is in it, what does it cost");
  verb->group(kCheckGroup);
  add_folder(verb, &options->folder, "Checkpoint folder; config and index alone will do");
  verb->add_flag("--checksums", options->checksums, "SHA-256 of every file");
  verb->add_flag("--no-scan", options->no_scan, "Do not read the scales of quantised weights");
  verb->add_option("--isa", options->isa, "Judge the support for this instruction set")
      ->envname("TRINE_ISA")
      ->type_name("LEVEL");
  verb->add_flag("--json", options->json, "The report as one JSON value");
  verb->footer(
      "Exit code 0: whole (or not downloaded yet), 1: findings.\n"
      "Example:\n  trine inspect models/k3-nano");
  verb->callback([options, exit_code] { *exit_code = inspect_verb(*options); });
}

}  // namespace trine::cli
