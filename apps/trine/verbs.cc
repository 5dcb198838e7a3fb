// What is the same for every verb once its command line was read.
#include "verbs.h"

#include <CLI/CLI.hpp>

#include "failure.h"

namespace trine::cli {

void set_action(CLI::App* verb, int* exit_code, std::function<int()> action) {
  verb->callback([verb, exit_code, action = std::move(action)] {
    const CLI::Option* json = verb->get_option_no_throw("--json");
    report_failures_as_json(json != nullptr && json->count() > 0);
    *exit_code = action();
  });
}

}  // namespace trine::cli
