// sha256 of files, against the names that hub caches give them.
#include "toolkit/checksums.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/try.h"
#include "platform/file.h"
#include "platform/sha256.h"
#include "platform/thread_pool.h"
#include "platform/topology.h"

namespace trine {
namespace {

constexpr int64_t kBlockBytes = int64_t{4} << 20;

bool is_sha256(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Hub caches keep a file under the name of its sha256 (git objects, 40 digits, are for small
// files).
std::string blob_name(const std::filesystem::path& path) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(path, error);
  if (error) return "";
  const std::string name = target.filename().string();
  return is_sha256(name) ? name : "";
}

}  // namespace

Result<std::string> sha256_file(const std::string& path) {
  TRINE_ASSIGN_OR_RETURN(const auto file, File::open(path));
  Sha256 sha256;
  std::vector<unsigned char> block(
      static_cast<size_t>(std::min(kBlockBytes, std::max<int64_t>(file.size(), 1))));
  for (int64_t at = 0; at < file.size(); at += kBlockBytes) {
    const int64_t bytes = std::min(kBlockBytes, file.size() - at);
    TRINE_RETURN_IF_ERROR(file.read_at(at, block.data(), bytes));
    sha256.update(block.data(), bytes);
  }
  std::string hex = sha256.hex();
  if (hex.empty()) return Status(Code::kInternal, path + ": sha256 is not available in libcrypto");
  return hex;
}

Result<std::vector<FileChecksum>> checksum_folder(const std::string& folder) {
  std::error_code error;
  std::vector<FileChecksum> files;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    std::error_code broken;  // a link to nothing is the audit's business
    if (!entries->is_regular_file(broken) || broken) continue;
    FileChecksum file;
    file.name = entries->path().filename().string();
    file.bytes = static_cast<int64_t>(entries->file_size(broken));
    file.expected = blob_name(entries->path());
    files.push_back(std::move(file));
  }
  if (error) return Status(Code::kIo, folder + ": " + error.message());
  std::sort(files.begin(), files.end(),
            [](const FileChecksum& a, const FileChecksum& b) { return a.name < b.name; });
  ThreadPool pool({.threads = discover_topology().default_threads(), .pin = false});
  std::vector<Status> failures(files.size());
  pool.parallel_for(static_cast<int64_t>(files.size()), [&](int64_t task, int) {
    FileChecksum& file = files[static_cast<size_t>(task)];
    auto sum = sha256_file(folder + "/" + file.name);
    if (sum.ok())
      file.sha256 = std::move(*sum);
    else
      failures[static_cast<size_t>(task)] = sum.status();
  });
  for (const Status& failure : failures) TRINE_RETURN_IF_ERROR(failure);
  return files;
}

}  // namespace trine
