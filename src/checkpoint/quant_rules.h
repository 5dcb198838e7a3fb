// What each format of compressed-tensors fixes: fields of a config group that contradict it or each
// other, and the codings that it can hold.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/finding.h"
#include "checkpoint/quant_config.h"

namespace trine::checkpoint {

/// A finding for each field of `weights` (a group's object, read into `scheme`) that contradicts
/// the format, contradicts another field, or is of no use; true when there are none. `key` leads to
/// it.
bool check_group_fields(const QuantScheme& scheme, const json::Value& weights,
                        const std::string& key, const std::string& file, Findings* findings);

/// Whether weights of this coding are what the format describes.
bool format_holds(std::string_view format, WeightCoding coding);
/// The format that describes a coding; empty for plain weights.
std::string_view format_of_coding(WeightCoding coding);

}  // namespace trine::checkpoint
