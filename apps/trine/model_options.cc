// Model options and loading.
#include "model_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

#include "common.h"
#include "progress.h"
#include "trine/toolkit.h"

namespace trine::cli {
namespace {

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

std::string multiple_of_64(const std::string& text) {
  int64_t value = 0;
  const bool is_number = CLI::detail::lexical_cast(text, value);
  if (is_number && value > 0 && value % 64 == 0) return {};
  return "found " + text + ", expected a multiple of 64";
}

}  // namespace

CLI::Validator unprinted(CLI::Validator check) { return check.description(""); }

void add_folder(CLI::App* app, std::string* folder, const std::string& what) {
  app->add_option("MODEL", *folder, what)->required();
}

void add_model_options(CLI::App* app, ModelOptions* options, Precision precision) {
  options->load.precision = precision;
  add_folder(app, &options->folder, "Checkpoint folder (with config.json)");
  const std::string group = "Model options";
  const std::map<std::string, Precision> precisions{{"exact", Precision::kExact},
                                                    {"fast", Precision::kFast}};
  const std::map<std::string, int64_t> units{{"k", 1024}, {"m", 1024 * 1024}};
  app->add_option("--precision", options->load.precision,
                  "fast: 16-bit inputs to the matrix units; exact: fp32 throughout")
      ->transform(unprinted(CLI::CheckedTransformer(precisions)))
      ->default_str(precision_name(precision))
      ->type_name("exact|fast")
      ->group(group);
  app->add_flag("--int8", options->load.int8_inputs,
                "fast, less accurate: weights of the trunk and inputs of matmuls rounded to int8 "
                "(AVX512-VNNI)")
      ->group(group);
  app->add_option("--threads", options->load.threads,
                  "Compute threads (default: physical cores available)")
      ->check(unprinted(CLI::Range(1, 4096)))
      ->type_name("N")
      ->group(group);
  app->add_option("--prefill-chunk", options->load.prefill_chunk,
                  "Prompt tokens per pass, a multiple of 64")
      ->check(multiple_of_64)
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  app->add_option("--context", options->load.context,
                  "Tokens a sequence can hold, e.g. 8192 or 32K (default: what memory allows)")
      ->transform(
          unprinted(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_INSENSITIVE, "N")))
      ->check(unprinted(CLI::PositiveNumber))
      ->type_name("N")
      ->group(group);
  app->add_option("--isa", options->load.isa,
                  "Instruction set: scalar, avx2, avx512, avx512_bf16, amx (default: the best)")
      ->envname("TRINE_ISA")
      ->type_name("LEVEL")
      ->group(group);
  app->add_flag("--allow-paging", options->load.allow_paging,
                "Load even when the plan exceeds the memory available")
      ->group(group);
  app->add_flag("-q,--quiet", options->quiet, "Nothing on stderr but errors")->group(group);
}

int check_model_options(const ModelOptions& options) {
  if (const Status status = check_isa(options.load.isa, options.load.int8_inputs); !status.ok()) {
    return fail_isa(status);
  }
  if (const Status status = check_folder(options.folder); !status.ok()) return fail(status);
  return kDone;
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

Status check_context(const Model& model, int64_t held, int64_t tokens) {
  const int64_t room = model.context() - held;
  if (tokens <= room) return Status();
  const std::string found =
      held > 0 ? std::to_string(tokens) + " more tokens after " + std::to_string(held)
               : "a prompt of " + std::to_string(tokens) + " tokens";
  return Status(Code::kInvalidArgument, found + " does not fit into the context of " +
                                            std::to_string(model.context()) +
                                            " tokens; shorten it or give a larger --context");
}

std::optional<Tokenizer> load_tokenizer(const std::string& folder, int* exit_code) {
  Status status = check_folder(folder);
  if (status.ok()) {
    Result<Tokenizer> tokenizer = Tokenizer::load(folder);
    if (tokenizer.ok()) {
      *exit_code = kDone;
      return std::move(tokenizer).value();
    }
    status = tokenizer.status();
  }
  *exit_code = fail(status);
  return std::nullopt;
}

const char* precision_name(Precision precision) {
  return precision == Precision::kExact ? "exact" : "fast";
}

}  // namespace trine::cli
