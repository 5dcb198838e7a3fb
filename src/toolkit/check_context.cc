// Whether a model knows a context of so many tokens, from config.json alone.
#include "base/json.h"
#include "checkpoint/config.h"
#include "platform/file.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

constexpr int64_t kConfigBytesMax = int64_t{16} << 20;

}  // namespace

Status check_context(const std::string& folder, int64_t context) {
  if (context <= 0) return Status();
  const Result<std::string> text = read_file(folder + "/config.json", kConfigBytesMax);
  if (!text.ok()) return Status();  // loading says what is wrong with it
  const Result<json::Value> root = json::parse(*text, "config.json");
  if (!root.ok() || !root->is_object()) return Status();
  checkpoint::Findings findings;
  const int64_t limit =
      checkpoint::parse_config(*root, nullptr, "config.json", &findings).max_position_embeddings;
  if (limit <= 0 || context <= limit) return Status();
  return Status(Code::kInvalidArgument, "found " + std::to_string(context) + ", expected at most " +
                                            std::to_string(limit) +
                                            ": the model was made for no longer context");
}

}  // namespace trine
