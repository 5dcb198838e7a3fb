#include "checkpoint/obstacle.h"

#include <algorithm>

namespace trine::checkpoint {
namespace {

struct Kind {
  const char* name;
  const char* expected;
  const char* action;
};

Kind kind_of(Code code) {
  switch (code) {
    case Code::kIo:
      return {kUnreadable, "a file that can be read",
              "the file need not be damaged: mend its permissions, its link or its place, or the "
              "limit of open files (ulimit -n), and try again"};
    case Code::kNotFound:
      return {"broken-link", "a file, or a link to one",
              "the link leads to nothing: download this file again, or mend the link"};
    case Code::kCorrupt: return {"truncated", "the whole file", "download this file again"};
    case Code::kUnsupported:
      return {"lfs-pointer", "the file itself",
              "run 'git lfs pull' in the folder, or download this file"};
    default: return {"side-file", "the release's file", "download this file again"};
  }
}

}  // namespace

Finding obstacle(const std::string& name, const std::string& path, const Status& why) {
  std::string_view found = why.message();
  if (found.starts_with(path + ": ")) found.remove_prefix(path.size() + 2);
  found = found.substr(0, found.find(", expected "));  // ours says more
  const Kind kind = kind_of(why.code());
  return {.kind = kind.name,
          .file = name,
          .found = std::string(found),
          .expected = kind.expected,
          .action = kind.action};
}

Status lfs_pointer(std::string_view head) {
  constexpr std::string_view kFirst = "version https://git-lfs.github.com/spec/";
  constexpr std::string_view kSize = "\nsize ";
  if (!head.starts_with(kFirst)) return {};
  std::string found = "a git-LFS pointer";
  if (const size_t at = head.find(kSize); at != std::string_view::npos) {
    const std::string_view rest = head.substr(at + kSize.size());
    found += " to a file of " + std::string(rest.substr(0, rest.find('\n'))) + " bytes";
  }
  return {Code::kUnsupported, found};
}

bool only_environment(const Findings& findings) {
  return has_errors(findings) &&
         std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
           return finding.severity != Severity::kError || finding.kind == kUnreadable;
         });
}

}  // namespace trine::checkpoint
