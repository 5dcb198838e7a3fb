// Bodies of requests to every API: read or refused with a 4xx, whatever they are; what was read
// gives a prompt or a 4xx.
#include <vector>

#include "base/json.h"
#include "server/generation.h"
#include "server/prompts.h"
#include "text_fuzz.h"

namespace {

using trine::server::GenerationRequest;
using trine::server::MaybeProblem;
using trine::server::RequestRules;

void require_refusal(const MaybeProblem& problem) {
  using trine::fuzz::require;
  require(problem->status >= 400 && problem->status < 500);
  require(!problem->message.empty());
  // Both forms of an error are JSON.
  for (const trine::json::Value& body :
       {trine::server::openai_error(*problem), trine::server::anthropic_error(*problem, "r")})
    require(trine::json::parse(trine::json::dump(body), "").ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const trine::Result<trine::json::Value> body = trine::json::parse(text, "body");
  if (!body.ok()) return 0;
  const trine::Tokenizer& tokenizer = trine::fuzz::small_tokenizer();
  RequestRules rules;
  rules.vocab_size = tokenizer.vocab_size();
  for (const auto parse :
       {trine::server::parse_chat_request, trine::server::parse_completion_request,
        trine::server::parse_responses_request, trine::server::parse_messages_request,
        trine::server::parse_count_tokens_request}) {
    GenerationRequest request;
    if (const MaybeProblem problem = parse(*body, rules, &request)) {
      require_refusal(problem);
      continue;
    }
    trine::fuzz::require(request.n >= 1 && request.n <= rules.n_max);
    std::vector<trine::server::Prompt> prompts;
    if (const MaybeProblem problem =
            trine::server::make_prompts(tokenizer, false, request, &prompts)) {
      require_refusal(problem);
      continue;
    }
    for (const trine::server::Prompt& prompt : prompts)
      trine::fuzz::require(prompt.counted >= 0 &&
                           prompt.counted <= static_cast<int64_t>(prompt.ids.size()));
    if (const MaybeProblem problem = trine::server::fit({}, 4096, prompts, &request))
      require_refusal(problem);
    (void)trine::server::constraint_spec(request);
  }
  return 0;
}
