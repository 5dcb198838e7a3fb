// Files that are there and cannot be used: what stands in the way, and what to do about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/finding.h"
#include "trine/status.h"

namespace trine::checkpoint {

/// Kind of the findings that blame the system (permissions, links, limits), not the checkpoint.
constexpr const char* kUnreadable = "unreadable";

/// Why the file `name`, which the folder lists, was not read: kIo is the system's refusal,
/// kNotFound a link to nothing, kCorrupt a file cut short, kUnsupported a stand-in (lfs_pointer),
/// anything else a file that is refused.
Finding obstacle(const std::string& name, const std::string& path, const Status& why);

/// kUnsupported when `head`, the first bytes of a file, is the text that git-LFS leaves in its
/// place.
Status lfs_pointer(std::string_view head);

/// There are errors, and all of them blame the system.
bool only_environment(const Findings& findings);

}  // namespace trine::checkpoint
