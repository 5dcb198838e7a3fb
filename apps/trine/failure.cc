// Failures on stderr and, with --json, on stdout.
#include "failure.h"

#include <algorithm>
#include <iostream>

#include "common.h"
#include "json_text.h"

namespace trine::cli {
namespace {

bool as_json = false;

int exit_code_of(Code code, Blame blame) {
  switch (code) {
    case Code::kOk: return kDone;
    case Code::kInvalidArgument: return blame == Blame::kInput ? kRefused : kUsage;
    case Code::kUnsupported: return blame == Blame::kMachine ? kEnvironment : kRefused;
    case Code::kCorrupt:
    case Code::kNotFinite: return kRefused;
    case Code::kCancelled: return kInterrupted;
    case Code::kNotFound:
    case Code::kOutOfMemory:
    case Code::kIo:
    case Code::kBusy:
    case Code::kInternal: return kEnvironment;
  }
  return kEnvironment;
}

}  // namespace

void report_failures_as_json(bool on) { as_json = on; }

void print_error_json(const std::string& code, const std::string& message, int exit_code) {
  // One value and no more: what is on stdout already is the verb's answer.
  if (!as_json || output_begun()) return;
  std::string name = code;
  std::replace(name.begin(), name.end(), ' ', '_');
  const std::string error = JsonObject()
                                .text("code", name)
                                .text("message", message)
                                .integer("exit_code", exit_code)
                                .str();
  print_line(JsonObject().raw("error", error).str());
}

int fail(const Status& status, Blame blame) {
  std::cout.flush();
  if (status.code() == Code::kCancelled) {
    std::cerr << "trine: interrupted\n";
  } else {
    std::cerr << "trine: " << status.to_string() << "\n";
  }
  const int exit_code = exit_code_of(status.code(), blame);
  print_error_json(code_name(status.code()), status.message(), exit_code);
  return exit_code;
}

int fail_usage(const std::string& verb, const std::string& message) {
  const std::string command = verb.empty() ? "trine" : "trine " + verb;
  std::cerr << command << ": " << message << "\nSee '" << command << " --help'.\n";
  print_error_json("usage", message, kUsage);
  return kUsage;
}

}  // namespace trine::cli
