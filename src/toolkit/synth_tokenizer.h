// A tokenizer for synthetic checkpoints: the files of spec section 9 for any vocabulary size.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/config.h"

namespace trine {

/// tiktoken.model: 256 bytes in the release's order, then made-up words that are two-part merges.
std::string synth_tiktoken_model(int64_t vocab_size);
/// tokenizer_config.json with the control tokens of the layout in the top 256 slots.
std::string synth_tokenizer_config(int64_t vocab_size, checkpoint::Layout layout);

}  // namespace trine
