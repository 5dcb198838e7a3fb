// Model options and loading.
#include "model_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "common.h"
#include "number_options.h"
#include "progress.h"
#include "trine/toolkit.h"

namespace trine::cli {
namespace {

constexpr uint64_t kPrefillChunkMax = uint64_t{1} << 20;

Status check_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return Status();
  if (std::filesystem::exists(folder, error)) {
    return Status(Code::kNotFound, folder +
                                       ": is a file, expected the folder of a checkpoint "
                                       "(the one with config.json)");
  }
  return Status(Code::kNotFound, folder +
                                     ": no such folder; give the folder of a checkpoint "
                                     "(the one with config.json)");
}

Status check_isa_option(const ModelOptions& options) {
  const Status status = check_isa(options.load.isa, options.load.int8_inputs);
  const bool given = options.isa_option != nullptr && options.isa_option->count() > 0;
  return given || options.load.isa.empty() ? status : status.with_context("TRINE_ISA");
}

// Why there is no tokenizer, and what to do.
Status explain_no_tokenizer(const std::string& folder, const Status& found, bool to_run) {
  if (found.code() != Code::kNotFound) return found;
  // A folder that is no checkpoint at all has a better explanation than a file it lacks.
  std::error_code error;
  const bool holds_others = std::filesystem::is_directory(folder + "/snapshots", error);
  if (to_run || holds_others) {
    InspectOptions headers_only;
    headers_only.scan = false;
    const Result<InspectReport> report = inspect(folder, headers_only);
    if (!report.ok()) return report.status();
  }
  return Status(found.code(),
                found.message() +
                    "; the tokenizer is tiktoken.model and tokenizer_config.json: download them "
                    "from the release of the model" +
                    (to_run ? ", or give ids to 'trine generate', which needs no tokenizer" : ""));
}

}  // namespace

void add_folder(CLI::App* app, std::string* folder, const std::string& what) {
  app->add_option("MODEL", *folder, what)->required();
}

void add_model_options(CLI::App* app, ModelOptions* options, Precision precision) {
  options->load.precision = precision;
  add_folder(app, &options->folder, "Checkpoint folder (with config.json)");
  const std::string group = "Model options";
  add_choice(app, "--precision", "fast: 16-bit inputs to the matrix units; exact: fp32 throughout",
             {"exact", "fast"},
             [options](const std::string& name) {
               options->load.precision = name == "exact" ? Precision::kExact : Precision::kFast;
             })
      ->default_str(precision_name(precision))
      ->type_name("exact|fast")
      ->group(group);
  app->add_flag("--int8", options->load.int8_inputs,
                "fast, less accurate: weights of the trunk and inputs of matmuls rounded to int8 "
                "(AVX512-VNNI)")
      ->group(group);
  add_integer(app, "--threads", &options->load.threads,
              "Compute threads (default: physical cores available)", {.min = 1, .max = 1024})
      ->default_str("")
      ->group(group);
  add_integer(app, "--prefill-chunk", &options->load.prefill_chunk,
              "Prompt tokens per pass, a multiple of 64",
              {.min = 64, .max = kPrefillChunkMax, .multiple = 64})
      ->group(group);
  add_integer(app, "--context", &options->load.context,
              "Tokens a sequence can hold, e.g. 8192 or 32K (default: what memory allows)",
              {.min = 1, .units = "KM"})
      ->default_str("")
      ->group(group);
  add_isa_option(app, options,
                 "Instruction set: scalar, avx2, avx512, avx512_bf16, amx (default: TRINE_ISA, or "
                 "the best)")
      ->group(group);
  app->add_flag("--allow-paging", options->load.allow_paging,
                "Load even when the plan exceeds the memory available")
      ->group(group);
  app->add_flag("-q,--quiet", options->quiet, "Nothing on stderr but errors")->group(group);
}

CLI::Option* add_isa_option(CLI::App* app, ModelOptions* options, const std::string& help) {
  if (const char* level = std::getenv("TRINE_ISA"); level != nullptr) options->load.isa = level;
  options->isa_option =
      add_choice(app, "--isa", help, {"scalar", "avx2", "avx512", "avx512_bf16", "amx"},
                 [options](const std::string& name) { options->load.isa = name; })
          ->type_name("LEVEL");
  return options->isa_option;
}

int check_model_options(const ModelOptions& options) {
  const LoadOptions& load = options.load;
  if (load.int8_inputs && load.precision == Precision::kExact) {
    return fail(Status(Code::kInvalidArgument,
                       "--int8 rounds and '--precision exact' does not; give one of the two"),
                Blame::kOptions);
  }
  if (const Status status = check_isa_option(options); !status.ok())
    return fail(status, Blame::kMachine);
  if (const Status status = check_folder(options.folder); !status.ok()) return fail(status);
  const Status context = check_context(options.folder, load.context);
  return context.ok() ? kDone : fail(context.with_context("--context"), Blame::kOptions);
}

std::optional<Model> load_model(const ModelOptions& options, int* exit_code) {
  *exit_code = check_model_options(options);
  if (*exit_code != kDone) return std::nullopt;
  Progress progress("loading", Unit::kBytes, options.quiet);
  LoadOptions load = options.load;
  load.progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
  Result<Model> model = Model::load(options.folder, load);
  progress.clear();
  if (!model.ok()) {
    *exit_code = fail(model.status(), Blame::kOptions);
    return std::nullopt;
  }
  return std::move(model).value();
}

Status check_room(const Model& model, int64_t held, int64_t tokens) {
  const int64_t room = model.context() - held;
  if (tokens <= room) return Status();
  const std::string found =
      held > 0 ? std::to_string(tokens) + " more tokens after " + std::to_string(held)
               : "a prompt of " + std::to_string(tokens) + " tokens";
  return Status(Code::kInvalidArgument, found + " does not fit into the context of " +
                                            std::to_string(model.context()) +
                                            " tokens; shorten it or give a larger --context");
}

std::optional<Tokenizer> load_tokenizer(const std::string& folder, int* exit_code, bool to_run) {
  Status status = check_folder(folder);
  if (status.ok()) {
    Result<Tokenizer> tokenizer = Tokenizer::load(folder);
    if (tokenizer.ok()) {
      *exit_code = kDone;
      return std::move(tokenizer).value();
    }
    status = explain_no_tokenizer(folder, tokenizer.status(), to_run);
  }
  *exit_code = fail(status);
  return std::nullopt;
}

const char* precision_name(Precision precision) {
  return precision == Precision::kExact ? "exact" : "fast";
}

}  // namespace trine::cli
