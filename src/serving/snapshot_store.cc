#include "serving/snapshot_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "base/try.h"
#include "platform/sha256.h"
#include "serving/prefix_hash.h"

namespace trine::serving {
namespace {

namespace fs = std::filesystem;
using Tokens = std::span<const int32_t>;

constexpr const char* kSuffix = ".snapshot";
constexpr const char* kDamagedSuffix = ".damaged";
constexpr const char* kLockName = "trine.lock";
constexpr size_t kNameDigits = 32;

Status system_error(const std::string& path, const std::string& what, int error) {
  const char* reason = ::strerrordesc_np(error);
  const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kIo;
  return Status(code, path + ": " + what + ": " +
                          (reason != nullptr ? reason : "error " + std::to_string(error)));
}

// POSITION-HASH.snapshot: the same for the same model and tokens, another for all others.
std::string name_of(const SnapshotShape& shape, Tokens tokens) {
  Sha256 hash;
  hash.update(shape.model_hash);
  for (const int64_t size :
       {shape.state_bytes, shape.block_tokens, shape.block_bytes, shape.block_planes}) {
    hash.update(&size, sizeof size);
  }
  hash.update(tokens.data(), static_cast<int64_t>(tokens.size_bytes()));
  return std::to_string(tokens.size()) + "-" + hash.hex().substr(0, kNameDigits) + kSuffix;
}

// Whether the store would give that name to a snapshot.
bool is_own_name(const std::string& name) {
  const size_t dash = name.find_first_not_of("0123456789");
  if (dash == 0 || dash == std::string::npos || name[dash] != '-') return false;
  const size_t end = name.find_first_not_of("0123456789abcdef", dash + 1);
  return end == dash + 1 + kNameDigits && name.substr(end) == kSuffix;
}

bool is_own_partial(const std::string& name) {
  const size_t end = name.find(kSuffix);
  return name.ends_with(PartialFile::kSuffix) && end != std::string::npos &&
         is_own_name(name.substr(0, end + std::strlen(kSuffix)));
}

// An exclusive lock on a file of the folder, for as long as it lives.
class FolderLock {
 public:
  static Result<FolderLock> take(const std::string& folder) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return system_error(folder, "cannot make the folder for snapshots", errno);
    }
    const std::string path = folder + "/" + kLockName;
    FolderLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock.fd_ < 0) return system_error(path, "cannot open the lock of the folder", errno);
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) == 0) return lock;
    if (errno != EWOULDBLOCK) return system_error(path, "cannot lock", errno);
    return Status(Code::kBusy, folder + ": another server keeps its snapshots there; give each a " +
                                   "folder of its own");
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace

struct SnapshotStore::Impl {
  struct Entry {
    StoredSnapshot stored;
    uint64_t hash = 0;  // PrefixHash of its tokens
    uint64_t age = 0;   // key in by_age
  };
  struct Found {  // by the scan
    StoredSnapshot stored;
    uint64_t hash = 0;
    fs::file_time_type used;
  };

  Impl(Options o, FolderLock l) : options(std::move(o)), lock(std::move(l)) {}

  std::string path(const std::string& name) const { return options.folder + "/" + name; }
  Status scan();
  void meet(const fs::directory_entry& file, std::vector<Found>* found);
  void ignore(const std::string& name, const std::string& reason);
  // The following with the mutex held.
  void add(const StoredSnapshot& stored, uint64_t hash);
  void forget(const std::string& name);
  void use(Entry* entry);
  Status remove_oldest();
  Status make_room(int64_t bytes);

  const Options options;
  const FolderLock lock;
  std::vector<Ignored> ignored;
  int64_t ignored_count = 0;

  mutable std::mutex mutex;
  std::map<std::string, Entry> entries;                            // by name
  std::set<std::tuple<int64_t, uint64_t, std::string>> by_prefix;  // position, hash, name
  std::map<uint64_t, std::string> by_age;                          // the longest unused first
  uint64_t next_age = 0;
  int64_t bytes = 0;
  std::set<std::string> being_written;
  int64_t bytes_being_written = 0;
};

void SnapshotStore::Impl::ignore(const std::string& name, const std::string& reason) {
  if (++ignored_count <= kIgnoredListedMax) ignored.push_back({name, reason});
}

void SnapshotStore::Impl::meet(const fs::directory_entry& file, std::vector<Found>* found) {
  const std::string name = file.path().filename().string();
  std::error_code error;
  if (name == kLockName) return;
  if (is_own_partial(name)) {  // of a server that died: the lock says that nobody writes it now
    fs::remove(file.path(), error);
    return;
  }
  if (name.ends_with(kDamagedSuffix)) return ignore(name, "was found damaged before");
  if (!is_own_name(name)) return ignore(name, "is not a file of the snapshot store");
  auto reader = SnapshotReader::open(path(name), options.shape);
  if (!reader.ok()) return ignore(name, reader.status().message());
  if (name_of(options.shape, reader->tokens()) != name) {
    return ignore(name, "holds other tokens than its name says");
  }
  const auto used = fs::last_write_time(file.path(), error);
  if (error) return ignore(name, error.message());
  PrefixHash hash;
  hash.append(reader->tokens());
  found->push_back({{.name = name,
                     .position = reader->position(),
                     .bytes = reader->file_bytes(),
                     .kind = reader->kind()},
                    hash.value(),
                    used});
}

Status SnapshotStore::Impl::scan() {
  std::error_code error;
  std::vector<Found> found;
  fs::directory_iterator files(options.folder, error);
  for (; !error && files != fs::directory_iterator(); files.increment(error)) meet(*files, &found);
  if (error) return Status(Code::kIo, options.folder + ": cannot list: " + error.message());
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.used, a.stored.name) < std::tie(b.used, b.stored.name);
  });
  for (const Found& file : found) add(file.stored, file.hash);
  return make_room(0);
}

void SnapshotStore::Impl::add(const StoredSnapshot& stored, uint64_t hash) {
  Entry& entry = entries[stored.name];
  entry = {.stored = stored, .hash = hash, .age = ++next_age};
  by_age.emplace(entry.age, stored.name);
  by_prefix.emplace(stored.position, hash, stored.name);
  bytes += stored.bytes;
}

void SnapshotStore::Impl::forget(const std::string& name) {
  const auto entry = entries.find(name);
  if (entry == entries.end()) return;
  by_age.erase(entry->second.age);
  by_prefix.erase({entry->second.stored.position, entry->second.hash, name});
  bytes -= entry->second.stored.bytes;
  entries.erase(entry);
}

// The time of the file tells the next start what was used last.
void SnapshotStore::Impl::use(Entry* entry) {
  by_age.erase(entry->age);
  entry->age = ++next_age;
  by_age.emplace(entry->age, entry->stored.name);
  ::utimensat(AT_FDCWD, path(entry->stored.name).c_str(), nullptr, 0);
}

Status SnapshotStore::Impl::remove_oldest() {
  const std::string name = by_age.begin()->second;
  if (::unlink(path(name).c_str()) != 0 && errno != ENOENT) {
    return system_error(path(name), "cannot delete", errno);
  }
  forget(name);
  return {};
}

Status SnapshotStore::Impl::make_room(int64_t wanted) {
  const int64_t left = options.budget_bytes - bytes_being_written - wanted;
  while (!by_age.empty() && bytes > left) TRINE_RETURN_IF_ERROR(remove_oldest());
  if (bytes <= left) return {};
  return Status(Code::kBusy, options.folder + ": " + std::to_string(bytes_being_written) +
                                 " of the budget of " + std::to_string(options.budget_bytes) +
                                 " B are being written right now");
}

SnapshotStore::SnapshotStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SnapshotStore::~SnapshotStore() = default;

Result<std::unique_ptr<SnapshotStore>> SnapshotStore::open(Options options) {
  TRINE_RETURN_IF_ERROR(options.shape.check());
  if (options.folder.empty() || options.folder.find('\0') != std::string::npos ||
      options.budget_bytes < 0) {
    return Status(Code::kInvalidArgument, "snapshot store: found folder '" + options.folder +
                                              "' and a budget of " +
                                              std::to_string(options.budget_bytes) +
                                              " B, expected a name and no less than 0");
  }
  TRINE_ASSIGN_OR_RETURN(FolderLock lock, FolderLock::take(options.folder));
  auto impl = std::make_unique<Impl>(std::move(options), std::move(lock));
  TRINE_RETURN_IF_ERROR(impl->scan());
  return std::make_unique<SnapshotStore>(std::move(impl));
}

Status SnapshotStore::put(Tokens tokens, SnapshotKind kind, std::span<const std::byte> state,
                          const BlockSource& blocks) {
  Impl& s = *impl_;
  TRINE_RETURN_IF_ERROR(s.options.shape.check_content(tokens, state));
  const StoredSnapshot stored{.name = name_of(s.options.shape, tokens),
                              .position = static_cast<int64_t>(tokens.size()),
                              .bytes = s.options.shape.file_bytes(std::ssize(tokens)),
                              .kind = kind};
  if (stored.bytes > s.options.budget_bytes) {
    return Status(Code::kOutOfMemory, s.options.folder + ": a snapshot of " +
                                          std::to_string(stored.position) + " tokens takes " +
                                          std::to_string(stored.bytes) + " B, the budget is " +
                                          std::to_string(s.options.budget_bytes) + " B");
  }
  {
    const std::lock_guard<std::mutex> guard(s.mutex);
    if (const auto entry = s.entries.find(stored.name); entry != s.entries.end()) {
      s.use(&entry->second);
      return {};
    }
    if (s.being_written.contains(stored.name)) return {};
    TRINE_RETURN_IF_ERROR(s.make_room(stored.bytes));
    s.being_written.insert(stored.name);
    s.bytes_being_written += stored.bytes;
  }
  Status status = write_snapshot_file(s.path(stored.name), s.options.shape, tokens, kind, state,
                                      blocks, PartialFile::Existing::kKeep);
  PrefixHash hash;
  hash.append(tokens);
  const std::lock_guard<std::mutex> guard(s.mutex);
  s.being_written.erase(stored.name);
  s.bytes_being_written -= stored.bytes;
  if (status.ok()) s.add(stored, hash.value());
  return status;
}

std::optional<StoredSnapshot> SnapshotStore::find(Tokens tokens, int64_t limit) const {
  const Impl& s = *impl_;
  const int64_t length = std::clamp<int64_t>(limit, 0, std::ssize(tokens));
  PrefixHash hash;
  int64_t done = 0;
  std::optional<StoredSnapshot> longest;
  const std::lock_guard<std::mutex> guard(s.mutex);
  for (auto entry = s.by_prefix.begin(); entry != s.by_prefix.end();
       entry = s.by_prefix.lower_bound({done + 1, 0, ""})) {  // the next length that there is
    const int64_t end = std::get<0>(*entry);
    if (end > length) break;
    hash.append(tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(end - done)));
    done = end;
    const auto match = s.by_prefix.lower_bound({end, hash.value(), ""});
    if (match == s.by_prefix.end() || std::get<0>(*match) != end ||
        std::get<1>(*match) != hash.value()) {
      continue;
    }
    longest = s.entries.at(std::get<2>(*match)).stored;
  }
  return longest;
}

Status SnapshotStore::load(const StoredSnapshot& stored, Tokens tokens, std::span<std::byte> state,
                           const BlockTarget& blocks) {
  Impl& s = *impl_;
  const auto read = [&]() -> Status {
    TRINE_ASSIGN_OR_RETURN(const SnapshotReader reader,
                           SnapshotReader::open(s.path(stored.name), s.options.shape));
    const std::vector<int32_t>& own = reader.tokens();
    if (std::ssize(own) != stored.position || own.size() > tokens.size() ||
        !std::equal(own.begin(), own.end(), tokens.begin())) {
      return Status(Code::kNotFound, s.path(stored.name) + ": is a snapshot of other tokens");
    }
    return reader.read(state, blocks);
  };
  Status status = read();
  const std::lock_guard<std::mutex> guard(s.mutex);
  const auto entry = s.entries.find(stored.name);
  if (entry == s.entries.end()) return status;
  if (status.ok()) {
    s.use(&entry->second);
  } else if (status.code() == Code::kCorrupt) {
    const std::string path = s.path(stored.name);
    ::rename(path.c_str(), (path + kDamagedSuffix).c_str());
    s.forget(stored.name);
  } else if (status.code() == Code::kNotFound || status.code() == Code::kUnsupported) {
    s.forget(stored.name);  // not the file that was there at the start
  }
  return status;
}

Status SnapshotStore::clear() {
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  while (!impl_->by_age.empty()) TRINE_RETURN_IF_ERROR(impl_->remove_oldest());
  return {};
}

SnapshotStore::Usage SnapshotStore::usage() const {
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return {.files = std::ssize(impl_->entries), .bytes = impl_->bytes};
}

const std::vector<SnapshotStore::Ignored>& SnapshotStore::ignored() const { return impl_->ignored; }

int64_t SnapshotStore::ignored_count() const { return impl_->ignored_count; }

}  // namespace trine::serving
