// Options of every verb that loads a model, and the loading itself.
#pragma once

#include <optional>
#include <string>

#include "trine/model.h"
#include "trine/tokenizer.h"

namespace CLI {  // compiling the whole of it takes seconds; only the verbs need to
class App;
class Option;
}  // namespace CLI

namespace trine::cli {

struct AnswerOptions;

struct ModelOptions {
  std::string folder;
  LoadOptions load;
  bool quiet = false;  ///< no progress, no statistics
  CLI::Option* isa_option = nullptr;
};

/// MODEL, --precision, --threads, ... `precision` is the default.
void add_model_options(CLI::App* app, ModelOptions* options,
                       Precision precision = Precision::kFast);

/// --think: one of think_levels().
CLI::Option* add_think_option(CLI::App* app, std::string* level);
/// --max-tokens, --temperature, --top-p, --top-k, --min-p, --seed.
void add_sampling_options(CLI::App* app, AnswerOptions* options);

/// --isa; without it TRINE_ISA counts.
CLI::Option* add_isa_option(CLI::App* app, ModelOptions* options, const std::string& help);

/// MODEL alone, for verbs that need the tokenizer only.
void add_folder(CLI::App* app, std::string* folder, const std::string& what);

/// Checks what can be known before anything is loaded: the instruction set, the folder, the
/// context. kDone or an exit code, the reason printed.
int check_model_options(const ModelOptions& options);

/// Loads with a progress bar. Empty when it failed: then the reason is printed and *exit_code set.
std::optional<Model> load_model(const ModelOptions& options, int* exit_code);
/// kInvalidArgument when `tokens` more than the `held` ones do not fit into the model's context.
Status check_room(const Model& model, int64_t held, int64_t tokens);
/// `to_run`: the weights are needed too, so that what a folder lacks is told for both.
std::optional<Tokenizer> load_tokenizer(const std::string& folder, int* exit_code,
                                        bool to_run = false);

/// "fast" or "exact".
const char* precision_name(Precision precision);

}  // namespace trine::cli
