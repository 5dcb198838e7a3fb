// trine: K3-generation language models on CPUs. One verb per file; the work is in libtrine.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string_view>

#include "common.h"
#include "verbs.h"

namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done or whole, 1 findings or a refused input, 2 usage,\n"
    "3 environment (no memory, no file, no such instruction set), 130 Ctrl-C.\n"
    "Data goes to stdout, everything else to stderr. 'trine VERB --help' shows an example.";

// Usage errors are ours to print: one line that says what is wrong, one that says where help is.
int report_usage(const CLI::App& app, const CLI::ParseError& error, const std::string& first) {
  if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);  // help, version
  if (app.get_subcommands().empty() && !first.empty() && first.front() != '-') {
    return trine::cli::fail_usage("", "no verb '" + first + "'");
  }
  std::string verb;
  for (const CLI::App* chosen : app.get_subcommands()) verb = chosen->get_name();
  return trine::cli::fail_usage(verb, error.what());
}

// Before the line was understood: whoever wrote --json wants to read JSON.
bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

int give_up(const char* code, const std::string& message) {
  std::cerr << "trine: " << message << "\n";
  trine::cli::print_error_json(code, message, trine::cli::kEnvironment);
  return trine::cli::kEnvironment;
}

int run(int argc, char** argv) {
  namespace cli = trine::cli;
  int exit_code = cli::kDone;
  CLI::App app("trine runs K3-generation language models on CPUs.", "trine");
  app.set_version_flag("--version", std::string("trine ") + TRINE_VERSION);
  app.footer(kFooter);
  app.get_formatter()->column_width(28);
  app.require_subcommand(1);
  for (const auto add :
       {cli::add_run, cli::add_chat, cli::add_serve, cli::add_inspect, cli::add_selfcheck,
        cli::add_bench, cli::add_synth, cli::add_tokenize, cli::add_detokenize, cli::add_render,
        cli::add_parse, cli::add_logits, cli::add_verify, cli::add_generate}) {
    add(&app, &exit_code);
  }
  cli::report_failures_as_json(wants_json(argc, argv));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error, argc > 1 ? argv[1] : "");
  }
  const trine::Status written = cli::flush_output();
  return exit_code == cli::kDone && !written.ok() ? cli::fail(written) : exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return give_up("out of memory", "out of memory");
  } catch (const std::exception& error) {
    return give_up("internal error", error.what());
  }
}
