// The two committed tokenizers and the golden files, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "trine/tokenizer.h"

namespace trine::test {

inline std::string source_path(const std::string& path) {
  return std::string(TRINE_SOURCE_DIR) + "/" + path;
}

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

inline json::Value read_json(const std::string& name) {
  const std::string path = source_path(name);
  Result<json::Value> value = json::parse(slurp(path), path);
  EXPECT_TRUE(value.ok()) << value.status().to_string();
  return value.ok() ? *std::move(value) : json::Value();
}

/// Must exist; the test cannot go on without.
inline Tokenizer tokenizer_at(const std::string& folder) {
  Result<Tokenizer> tokenizer = Tokenizer::load(source_path(folder));
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.status().to_string();
    std::abort();
  }
  return *std::move(tokenizer);
}

/// The tokenizer of the golden cases: 1792 ranks, control ids from there.
inline const Tokenizer& golden_tokenizer() {
  static const Tokenizer tokenizer = tokenizer_at("tests/golden/tok");
  return tokenizer;
}
inline const Tokenizer& nano_tokenizer() {
  static const Tokenizer tokenizer = tokenizer_at("models/k3-nano");
  return tokenizer;
}

inline std::vector<int32_t> ids_of(const json::Value& array) {
  std::vector<int32_t> ids;
  for (const json::Value& item : array.as_array()) {
    int64_t id = -1;
    EXPECT_TRUE(item.to_int64(&id));
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

inline std::string repeat(std::string_view piece, size_t count) {
  std::string out;
  out.reserve(piece.size() * count);
  for (size_t i = 0; i < count; ++i) out += piece;
  return out;
}

}  // namespace trine::test
