// The JSON library of the verbs; included here only.
#pragma once

#include <nlohmann/json.hpp>

namespace trine::cli {

/// Members in source order.
using Json = nlohmann::ordered_json;

}  // namespace trine::cli
