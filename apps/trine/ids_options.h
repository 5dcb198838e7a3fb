// Token ids on the command line: --ids, --ids-file, and lists as they are written there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trine/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace trine::cli {

struct IdsOptions {
  std::string ids;
  std::string file;
  CLI::Option* ids_option = nullptr;
  CLI::Option* file_option = nullptr;

  /// One of the two is on the command line.
  bool given() const;
};

void add_ids_options(CLI::App* app, IdsOptions* options);

/// The ids given, at least one. False when they were refused: then the reason is printed and
/// *exit_code set.
bool read_ids(const IdsOptions& options, std::vector<int32_t>* ids, int* exit_code);

/// "1,2,3", "1 2 3" or "[1, 2, 3]".
Result<std::vector<int32_t>> parse_ids(std::string_view text, const std::string& where);

}  // namespace trine::cli
