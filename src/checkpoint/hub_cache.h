// Folders that hold checkpoints further inside, above all those of a Hugging Face hub cache
// (models--ORG--NAME/snapshots/REVISION, with the revision of a branch in refs/BRANCH).
#pragma once

#include <string>

namespace trine::checkpoint {

/// What to name instead of `path`, which has no config.json; empty when nothing inside has one.
std::string hint_at_checkpoints(const std::string& path);

}  // namespace trine::checkpoint
