// How the modules of a checkpoint are stored when its weights are not there yet.
#pragma once

#include <string>

#include "base/json.h"
#include "checkpoint/finding.h"
#include "toolkit/synth_plan.h"
#include "trine/status.h"

namespace trine {

/// The names of the index decide which modules are quantised, the config (`root`) how. Without an
/// index only experts are, as in the releases.
Result<FormatOf> declared_formats(const std::string& folder, const json::Value& root);

/// kInvalidArgument with all error findings, or ok.
Status error_findings(const checkpoint::Findings& findings);

}  // namespace trine
