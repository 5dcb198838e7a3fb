// trine logits: what the model computes, to a file. trine verify: the same compared with a file.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "common.h"
#include "ids_options.h"
#include "interrupt.h"
#include "json_text.h"
#include "model_options.h"
#include "number_options.h"
#include "progress.h"
#include "trine/toolkit.h"
#include "verbs.h"

namespace trine::cli {
namespace {

constexpr double kToleranceMax = 1e9;

struct LogitsVerb {
  ModelOptions model;
  IdsOptions prompt;
  std::string out;
  bool layers = false;
  bool json = false;
};

struct VerifyVerb {
  ModelOptions model;
  std::string against;
  IdsOptions prompt;
  std::string prefix;
  double tolerance = 2e-3;
  bool json = false;
};

// Computing under Ctrl-C and with a progress bar, the same for both verbs.
class Watch {
 public:
  explicit Watch(bool quiet)
      : loading_("loading", Unit::kBytes, quiet), computing_("computing", Unit::kTokens, quiet) {}

  LoadOptions watched(LoadOptions load) {
    load.progress = [this](int64_t done, int64_t total) { loading_.update(done, total); };
    return load;
  }
  std::function<bool(int64_t, int64_t)> progress() {
    return [this](int64_t done, int64_t total) {
      loading_.clear();
      computing_.update(done, total);
      return !InterruptGuard::interrupted();
    };
  }
  void clear() {
    loading_.clear();
    computing_.clear();
  }

 private:
  InterruptGuard guard_;
  Progress loading_;
  Progress computing_;
};

int logits(const LogitsVerb& verb) {
  int exit_code = kDone;
  std::vector<int32_t> ids;
  if (!read_ids(verb.prompt, &ids, &exit_code)) return exit_code;
  if (const int code = check_model_options(verb.model); code != kDone) return code;
  Watch watch(verb.model.quiet);
  LogitsOptions options;
  options.load = watch.watched(verb.model.load);
  options.layers = verb.layers;
  options.out = verb.out;
  options.progress = watch.progress();
  const Status status = write_logits(verb.model.folder, ids, options);
  watch.clear();
  if (!status.ok()) return fail(status);
  if (verb.json) {
    print_line(JsonObject()
                   .text("out", verb.out)
                   .integer("tokens", std::ssize(ids))
                   .text("precision", precision_name(verb.model.load.precision))
                   .str());
  } else if (!verb.model.quiet) {
    std::cerr << verb.out << ": " << ids.size() << " tokens, "
              << precision_name(verb.model.load.precision) << "\n";
  }
  return kDone;
}

int verify_verb(const VerifyVerb& verb) {
  int exit_code = kDone;
  std::vector<int32_t> ids;
  if (verb.prompt.given() && !read_ids(verb.prompt, &ids, &exit_code)) return exit_code;
  if (const int code = check_model_options(verb.model); code != kDone) return code;
  Watch watch(verb.model.quiet);
  VerifyOptions options;
  options.load = watch.watched(verb.model.load);
  options.tolerance = verb.tolerance;
  options.ids = std::move(ids);
  options.prefix = verb.prefix;
  options.progress = watch.progress();
  const Result<VerifyReport> report = verify(verb.model.folder, verb.against, options);
  watch.clear();
  if (!report.ok()) return fail(report.status());
  if (verb.json) {
    print_line(report->json);
  } else {
    print(report->text);
  }
  return report->equal ? kDone : kRefused;
}

}  // namespace

void add_logits(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<LogitsVerb>();
  CLI::App* verb = app->add_subcommand("logits", "Logits of every token, to a safetensors file");
  verb->group(kCompareGroup);
  add_model_options(verb, &options->model);
  add_ids_options(verb, &options->prompt);
  verb->add_option("--out", options->out, "File to write")->required()->type_name("FILE");
  verb->add_flag("--layers", options->layers, "Also layers, router_ids, kda_state and mla_rows");
  verb->add_flag("--json", options->json, "{\"out\", \"tokens\", \"precision\"} on stdout");
  verb->footer(
      "F32 tensors: logits [T,V]; with --layers also layers [L,T,d], router_ids [n_moe,T,k],\n"
      "kda_state [n_kda,H,K,V], mla_rows [n_mla,T,r+dr]. The ids are in the metadata.\n"
      "Example:\n"
      "  trine logits models/k3-nano --ids 3843,284,320 --precision exact --layers \\\n"
      "      --out logits.safetensors");
  set_action(verb, exit_code, [options] { return logits(*options); });
}

void add_verify(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<VerifyVerb>();
  CLI::App* verb =
      app->add_subcommand("verify", "Compare with a file of 'trine logits' or of another engine");
  verb->group(kCompareGroup);
  add_model_options(verb, &options->model, Precision::kExact);
  verb->add_option("--against", options->against, "safetensors file to compare with")
      ->required()
      ->type_name("FILE");
  add_ids_options(verb, &options->prompt);
  verb->add_option("--prefix", options->prefix, "Of the tensor names in the file, e.g. 'short.'")
      ->type_name("TEXT");
  add_real(verb, "--tolerance", &options->tolerance,
           "Largest difference, relative to max(1, largest reference value)", 0, kToleranceMax);
  verb->add_flag("--json", options->json, "The report as one JSON value");
  verb->footer(
      "Exit code 0 when equal within the tolerance, 1 when not: then the first layer that\n"
      "differs is named. The prompt comes from the file's metadata unless --ids is given.\n"
      "Example:\n  trine verify models/k3-nano --against logits.safetensors");
  set_action(verb, exit_code, [options] { return verify_verb(*options); });
}

}  // namespace trine::cli
