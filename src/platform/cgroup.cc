// Where a process's control group is mounted, and the limits on the way from it up to the mount.
//
// /proc/self/cgroup names the group, /proc/self/mountinfo where its hierarchy is mounted and which
// subtree of it (in a container that may be the group itself, or a parent, or the whole tree).
#include "platform/cgroup.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "platform/file.h"

namespace trine {
namespace {

constexpr int64_t kProcFileBytesMax = int64_t{16} << 20;
// v1 writes "no limit" as the largest multiple of the page size; anything of that order is none.
constexpr int64_t kUnlimitedBytes = int64_t{1} << 60;

std::string slurp(const std::string& path) {
  Result<std::string> text = read_file(path, kProcFileBytesMax);
  return text.ok() ? std::move(text).value() : std::string();
}

std::optional<int64_t> parse_int(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == separator) {
      parts.emplace_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return parts;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// mountinfo writes blanks, tabs, newlines and backslashes as \ooo.
std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](size_t k) {
      return k < text.size() && text[k] >= '0' && text[k] <= '7';
    };
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Mount {
  std::string subtree;  // the part of the hierarchy that is mounted
  std::string point;
};

// The mount of cgroup2 (controller empty) or of a v1 controller.
std::optional<Mount> find_mount(const std::string& mountinfo, const std::string& controller) {
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const std::string& type = dash[1];
    const bool matches = controller.empty()
                             ? type == "cgroup2"
                             : type == "cgroup" && contains(split(dash[3], ','), controller);
    if (matches) return Mount{unescape(fields[3]), unescape(fields[4])};
  }
  return std::nullopt;
}

// The group's path in the hierarchy of cgroup2 (controller empty) or of a v1 controller.
std::optional<std::string> find_group(const std::string& cgroups, const std::string& controller) {
  for (const std::string& line : split(cgroups, '\n')) {
    const size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches = controller.empty() ? line.substr(0, first) == "0" && controllers.empty()
                                            : contains(split(controllers, ','), controller);
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The group below the mount point: "" or "/a/b". Groups outside the mounted subtree count as its
// root.
std::string path_below(const std::string& group, const std::string& subtree) {
  std::string below = group;
  if (subtree != "/") {
    const bool inside = below.compare(0, subtree.size(), subtree) == 0 &&
                        (below.size() == subtree.size() || below[subtree.size()] == '/');
    if (!inside) return "";
    below.erase(0, subtree.size());
  }
  if (contains(split(below, '/'), "..")) return "";
  while (!below.empty() && below.back() == '/') below.pop_back();
  return below;
}

// Folders from the process's group up to the mount point; empty when there is no such hierarchy.
std::vector<std::string> group_folders(const std::string& root, const std::string& controller) {
  const std::optional<std::string> group =
      find_group(slurp(root + "/proc/self/cgroup"), controller);
  if (!group) return {};
  std::optional<Mount> mount = find_mount(slurp(root + "/proc/self/mountinfo"), controller);
  if (!mount) mount = Mount{"/", "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller)};
  std::string below = path_below(*group, mount->subtree);
  std::vector<std::string> folders;
  for (;;) {
    folders.push_back(root + mount->point + below);
    if (below.empty()) return folders;
    below.erase(below.rfind('/'));
  }
}

int64_t stat_value(const std::string& stat, std::string_view key) {
  for (const std::string& line : split(stat, '\n')) {
    if (line.size() > key.size() && line.compare(0, key.size(), key) == 0 &&
        line[key.size()] == ' ') {
      return std::max<int64_t>(
          0, parse_int(std::string_view(line).substr(key.size() + 1)).value_or(0));
    }
  }
  return 0;
}

struct MemoryFiles {
  int version;
  const char* controller;
  std::vector<const char*> limits;
  const char* usage;
  std::vector<const char*> cache_keys;  // of memory.stat: pages that can be dropped
};

void lower(const std::string& folder, const MemoryFiles& files, CgroupMemory* out) {
  int64_t limit = kUnlimitedBytes;
  for (const char* name : files.limits) {
    const int64_t value = parse_int(slurp(folder + "/" + name)).value_or(kUnlimitedBytes);
    if (value >= 0) limit = std::min(limit, value);
  }
  if (limit >= kUnlimitedBytes) return;
  const std::string stat = slurp(folder + "/memory.stat");
  int64_t cache = 0;
  for (const char* key : files.cache_keys) {
    cache += std::min(stat_value(stat, key), kUnlimitedBytes);
  }
  const int64_t usage = std::clamp<int64_t>(
      parse_int(slurp(folder + "/" + files.usage)).value_or(0), 0, kUnlimitedBytes);
  const int64_t held = std::max<int64_t>(0, usage - cache);
  const int64_t available = std::max<int64_t>(0, limit - held);
  if (!out->limited || limit < out->limit_bytes) {
    out->limit_bytes = limit;
    out->version = files.version;
  }
  if (!out->limited || available < out->available_bytes) out->available_bytes = available;
  out->limited = true;
}

}  // namespace

CgroupMemory cgroup_memory(const std::string& root) {
  const std::vector<MemoryFiles> hierarchies = {
      // memory.high does not kill, but above it the kernel pages and throttles without end.
      {2,
       "",
       {"memory.max", "memory.high"},
       "memory.current",
       {"inactive_file", "active_file", "slab_reclaimable"}},
      {1,
       "memory",
       {"memory.limit_in_bytes"},
       "memory.usage_in_bytes",
       {"total_inactive_file", "total_active_file"}}};
  CgroupMemory memory;
  for (const MemoryFiles& files : hierarchies) {
    for (const std::string& folder : group_folders(root, files.controller)) {
      lower(folder, files, &memory);
    }
  }
  return memory;
}

double cgroup_cpu_quota(const std::string& root) {
  double quota = 0;
  const auto lower_to = [&quota](std::optional<int64_t> time, std::optional<int64_t> period) {
    if (!time || !period || *time <= 0 || *period <= 0) return;
    const double cores = static_cast<double>(*time) / static_cast<double>(*period);
    quota = quota > 0 ? std::min(quota, cores) : cores;
  };
  for (const std::string& folder : group_folders(root, "")) {
    const std::vector<std::string> fields = split(slurp(folder + "/cpu.max"), ' ');
    if (fields.size() == 2) lower_to(parse_int(fields[0]), parse_int(fields[1]));
  }
  for (const std::string& folder : group_folders(root, "cpu")) {
    lower_to(parse_int(slurp(folder + "/cpu.cfs_quota_us")),
             parse_int(slurp(folder + "/cpu.cfs_period_us")));
  }
  return quota;
}

}  // namespace trine
