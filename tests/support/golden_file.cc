// A small reader of safetensors and of golden.json, for tests alone.
#include "support/golden_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace trine::testing {

namespace {

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

json::Value json_file(const std::string& path) {
  Result<json::Value> value = json::parse(file_text(path), path);
  EXPECT_TRUE(value.ok()) << value.status().to_string();
  return value.ok() ? *value : json::Value();
}

namespace {

std::vector<int32_t> ids_of(const json::Value* array) {
  std::vector<int32_t> ids;
  if (array == nullptr) return ids;
  for (const json::Value& v : array->as_array()) ids.push_back(static_cast<int32_t>(v.as_double()));
  return ids;
}

std::map<std::string, GoldenArray> golden_arrays(const std::string& path) {
  std::map<std::string, GoldenArray> arrays;
  const std::string bytes = file_text(path);
  uint64_t header_bytes = 0;
  if (bytes.size() < 8) return arrays;
  std::memcpy(&header_bytes, bytes.data(), 8);
  const Result<json::Value> header =
      json::parse(std::string_view(bytes).substr(8, header_bytes), path);
  EXPECT_TRUE(header.ok()) << path;
  if (!header.ok()) return arrays;
  for (const auto& [name, entry] : header->as_object()) {
    if (name == "__metadata__") continue;
    GoldenArray array;
    for (const json::Value& v : entry.find("shape")->as_array()) {
      array.shape.push_back(static_cast<int64_t>(v.as_double()));
    }
    const json::Value::Array& range = entry.find("data_offsets")->as_array();
    const auto begin = static_cast<size_t>(range[0].as_double());
    const auto size = static_cast<size_t>(range[1].as_double()) - begin;
    const char* data = bytes.data() + 8 + header_bytes + begin;
    if (entry.find("dtype")->as_string() == "F32") {
      array.floats.resize(size / 4);
      std::memcpy(array.floats.data(), data, size);
    } else {
      array.integers.resize(size / 4);
      std::memcpy(array.integers.data(), data, size);
    }
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

/// `key` is "short", "long", "long[:65]", or a name in `prompts`.
std::vector<int32_t> golden_prompt(const GoldenCase& golden, const json::Value* prompts,
                                   const std::string& key) {
  if (prompts != nullptr && prompts->find(key) != nullptr) return ids_of(prompts->find(key));
  if (key == "short") return golden.short_ids;
  if (key == "long") return golden.long_ids;
  if (key.rfind("long[:", 0) == 0) {
    const auto n = static_cast<std::ptrdiff_t>(std::stoul(key.substr(6)));
    return {golden.long_ids.begin(), golden.long_ids.begin() + n};
  }
  ADD_FAILURE() << golden.name << ": no prompt called " << key;
  return {};
}

GoldenCase read_golden(const std::string& name, const std::string& json_path,
                       const std::string& arrays_path, const std::string& folder) {
  GoldenCase golden;
  golden.name = name;
  golden.folder = folder;
  const json::Value root = json_file(json_path);
  golden.long_ids = ids_of(root.find("long_ids"));
  golden.short_ids = ids_of(root.find("short_ids"));
  for (const auto& [key, entry] : root.find("greedy")->as_object()) {
    const json::Value* tokens = entry.is_array() ? &entry : entry.find("tokens");
    golden.greedy.push_back(
        {key, golden_prompt(golden, root.find("prompts"), key), ids_of(tokens)});
  }
  golden.arrays = golden_arrays(arrays_path);
  return golden;
}

}  // namespace

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TRINE_SOURCE_DIR) + "/tests/golden")) {
    if (std::filesystem::exists(entry.path() / "golden.json"))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  names.emplace_back("k3-nano");
  return names;
}

std::vector<GoldenCase> all_goldens() {
  const std::string source = TRINE_SOURCE_DIR;
  const std::string root = source + "/tests/golden/";
  std::vector<GoldenCase> cases;
  for (const std::string& name : golden_names()) {
    if (name == "k3-nano") continue;
    const std::string folder = root + name + "/";
    cases.push_back(
        read_golden(name, folder + "golden.json", folder + "golden.safetensors", folder + "model"));
  }
  cases.push_back(read_golden("k3-nano", root + "k3-nano.golden.json",
                              root + "k3-nano.golden.safetensors", source + "/models/k3-nano"));
  return cases;
}

}  // namespace trine::testing
