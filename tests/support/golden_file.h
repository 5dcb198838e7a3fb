// Golden cases (tests/golden/README.md): ids and greedy continuations from JSON, arrays from
// safetensors. A reader of its own, so that it cannot share a mistake with the library's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace trine::testing {

struct GoldenArray {
  std::vector<int64_t> shape;
  std::vector<float> floats;      ///< F32
  std::vector<int32_t> integers;  ///< I32
};

struct GoldenGreedy {
  std::string name;
  std::vector<int32_t> prompt;
  std::vector<int32_t> tokens;
};

struct GoldenCase {
  std::string name;
  std::string folder;  ///< the checkpoint
  std::vector<int32_t> long_ids;
  std::vector<int32_t> short_ids;
  std::vector<GoldenGreedy> greedy;
  std::map<std::string, GoldenArray> arrays;

  const GoldenArray* find(const std::string& key) const {
    const auto it = arrays.find(key);
    return it == arrays.end() ? nullptr : &it->second;
  }
};

json::Value json_file(const std::string& path);
/// The cases of the folder tests/golden, sorted, and k3-nano.
std::vector<std::string> golden_names();
std::vector<GoldenCase> all_goldens();

}  // namespace trine::testing
