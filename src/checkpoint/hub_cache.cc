#include "checkpoint/hub_cache.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "checkpoint/finding.h"
#include "platform/file.h"

namespace trine::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFoldersMax = 10'000;  ///< looked at
constexpr size_t kListed = 4;
constexpr int64_t kRevisionBytesMax = 4096;

/// Folders inside `path`, sorted; hidden ones left out.
std::vector<fs::path> folders_in(const fs::path& path) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (found.size() >= kFoldersMax) break;
    std::error_code ignored;
    if (it->path().filename().string()[0] != '.' && it->is_directory(ignored))
      found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void add_checkpoints(const fs::path& path, std::vector<fs::path>* checkpoints) {
  std::error_code error;
  for (const fs::path& folder : folders_in(path))
    if (fs::exists(folder / "config.json", error)) checkpoints->push_back(folder);
}

/// The snapshot that the branch `main` of a hub cache names comes first.
void put_main_first(const fs::path& root, std::vector<fs::path>* checkpoints) {
  const Result<std::string> main = read_file((root / "refs" / "main").string(), kRevisionBytesMax);
  if (!main.ok()) return;
  const std::string revision = main->substr(0, main->find_first_of("\r\n "));
  std::stable_partition(checkpoints->begin(), checkpoints->end(),
                        [&](const fs::path& snapshot) { return snapshot.filename() == revision; });
}

}  // namespace

std::string hint_at_checkpoints(const std::string& path) {
  const fs::path root = fs::path(path);
  std::error_code error;
  const bool cached_model = fs::is_directory(root / "snapshots", error);
  std::vector<fs::path> checkpoints;
  if (cached_model) {
    add_checkpoints(root / "snapshots", &checkpoints);
    put_main_first(root, &checkpoints);
    if (checkpoints.empty())
      return "this is a model of a Hugging Face hub cache without a complete snapshot; download it "
             "again";
  } else {
    add_checkpoints(root, &checkpoints);
    for (const fs::path& model : folders_in(root))
      if (model.filename().string().starts_with("models--"))
        add_checkpoints(model / "snapshots", &checkpoints);
  }
  if (checkpoints.empty()) return "";
  std::string text = cached_model
                         ? "this is a model of a Hugging Face hub cache; give its snapshot "
                         : "give the folder of one checkpoint: ";
  for (size_t i = 0; i < std::min(kListed, checkpoints.size()); ++i)
    text += (i > 0 ? " or " : "") + printable(checkpoints[i].string());
  if (checkpoints.size() > kListed)
    text += " (or one of " + std::to_string(checkpoints.size() - kListed) + " more)";
  return text;
}

}  // namespace trine::checkpoint
