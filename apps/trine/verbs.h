// The verbs: each adds its sub-command and leaves its exit code in *exit_code when it was chosen.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace trine::cli {

inline constexpr const char* kUseGroup = "Use a model";
inline constexpr const char* kCheckGroup = "Look at a model";
inline constexpr const char* kTextGroup = "Text and chat format";
inline constexpr const char* kCompareGroup = "Compare engines";

/// The work of a verb, when it was chosen; its failures are told as its --json says.
void set_action(CLI::App* verb, int* exit_code, std::function<int()> action);

void add_run(CLI::App* app, int* exit_code);
void add_chat(CLI::App* app, int* exit_code);
void add_serve(CLI::App* app, int* exit_code);
void add_inspect(CLI::App* app, int* exit_code);
void add_selfcheck(CLI::App* app, int* exit_code);
void add_bench(CLI::App* app, int* exit_code);
void add_synth(CLI::App* app, int* exit_code);
void add_tokenize(CLI::App* app, int* exit_code);
void add_detokenize(CLI::App* app, int* exit_code);
void add_render(CLI::App* app, int* exit_code);
void add_parse(CLI::App* app, int* exit_code);
void add_logits(CLI::App* app, int* exit_code);
void add_verify(CLI::App* app, int* exit_code);
void add_generate(CLI::App* app, int* exit_code);

}  // namespace trine::cli
