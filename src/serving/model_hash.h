// What states belong to: a file of snapshots is read only by the model, precision and instruction
// set that wrote it.
#pragma once

#include <string>

#include "engine/paged_model.h"
#include "trine/model.h"
#include "trine/status.h"

namespace trine::serving {

/// sha256 (hex) over the precision, the instruction set, config.json, and of each shard its name,
/// size and samples of its content (reading 1.5 TB would take longer than any prefill saves): the
/// ends, and pieces in between.
Result<std::string> model_hash(const std::string& folder, const PagedModel& model,
                               const LoadOptions& options);

}  // namespace trine::serving
