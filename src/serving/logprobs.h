// Log probabilities of one row of logits as the model gave them.
#pragma once

#include <cstdint>
#include <span>

#include "serving/request.h"

namespace trine::serving {

/// Log-softmax (in double) of token `id`, and the `top` best tokens with theirs. Always finite for
/// a row with a finite logit: a logit of -inf counts as the lowest number there is.
TokenLogprobs logprobs_of(std::span<const float> logits, int32_t id, int top);

}  // namespace trine::serving
