// Running the built executable in tests.
#include "trine_run.h"

#include <fstream>
#include <sstream>

namespace trine::testing {

ProcessResult trine(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  std::vector<std::string> all{TRINE_BINARY};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_process(all, options);
}

ProcessResult trine_stdin(const std::vector<std::string>& arguments, const std::string& input) {
  ProcessOptions options;
  options.input = input;
  return trine(arguments, options);
}

json::Value must_parse(const std::string& text) {
  const Result<json::Value> value = json::parse(text, "output");
  EXPECT_TRUE(value.ok()) << value.status().to_string() << "\nin: " << text;
  return value.ok() ? *value : json::Value();
}

json::Value read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return must_parse(text.str());
}

const json::Value& member(const json::Value& object, const std::string& key) {
  static const json::Value kNull;
  const json::Value* value = object.find(key);
  EXPECT_NE(value, nullptr) << "no member " << key << " in " << json::dump(object).substr(0, 200);
  return value != nullptr ? *value : kNull;
}

std::vector<int32_t> ids_of(const json::Value& array) {
  std::vector<int32_t> ids;
  EXPECT_TRUE(array.is_array()) << json::dump(array);
  for (const json::Value& value : array.as_array()) {
    int64_t id = -1;
    EXPECT_TRUE(value.to_int64(&id)) << json::dump(value);
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

std::string ids_text(const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

}  // namespace trine::testing
