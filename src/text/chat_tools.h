// The tools of a chat request, checked before they are rendered (spec section 10).
#pragma once

#include <string>

#include "base/json.h"
#include "trine/status.h"

namespace trine {

/// An array of {"type": "function", "function": {"name": ..., "description"?, "parameters"?}}.
/// Further members (strict, ...) are rendered as they are; null counts as absent. kInvalidArgument
/// names the tool and the key; `where` is the path of the array.
Status check_tools(const json::Value& tools, const std::string& where);

}  // namespace trine
