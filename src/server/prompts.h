// From a request to token ids, and what of it the server bounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/api.h"
#include "server/constraint.h"
#include "server/generation.h"
#include "trine/tokenizer.h"

namespace trine::server {

struct Prompt {
  std::vector<int32_t> ids;
  std::string text;     ///< with echo: what the answer begins with; of a chat: as rendered
  int64_t counted = 0;  ///< tokens as usage counts them
};

/// Renders or encodes all prompts of the request. The vendor's rule counts a chat's prompt without
/// the tag that the generation prompt ends with (<|open|>think<|sep|>).
MaybeProblem make_prompts(const Tokenizer& tokenizer, bool count_stub,
                          const GenerationRequest& request, std::vector<Prompt>* out);
/// Decides max_tokens where it was not given, and refuses with the numbers what cannot fit.
MaybeProblem fit(const ApiOptions& options, int64_t context, const std::vector<Prompt>& prompts,
                 GenerationRequest* request);

/// What the answer must be, for the constraint maker; and the field to blame when that fails.
ConstraintSpec constraint_spec(const GenerationRequest& request);
std::string constrained_field(const GenerationRequest& request);

}  // namespace trine::server
