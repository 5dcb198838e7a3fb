// The four routes that generate: parse, render, fit, submit.
#include "server/generation_job.h"
#include "server/prompts.h"
#include "server/routes.h"

namespace trine::server {
namespace {

using Parse = MaybeProblem (*)(const json::Value&, const RequestRules&, GenerationRequest*);

MaybeProblem prepare(const ApiContext& context, const Call& call, Parse parse,
                     GenerationRequest* request, std::vector<Prompt>* prompts) {
  json::Value body;
  TRINE_RETURN_IF_PROBLEM(parse_body(call, &body));
  TRINE_RETURN_IF_PROBLEM(parse(body, rules_of(context), request));
  TRINE_RETURN_IF_PROBLEM(check_model(context, request->model));
  TRINE_RETURN_IF_PROBLEM(
      make_prompts(context.tokenizer, context.options.usage_counts_stub, *request, prompts));
  return fit(context.options, context.service.context(), *prompts, request);
}

void generate(ApiContext& context, Call call, Parse parse) {
  GenerationRequest request;
  std::vector<Prompt> prompts;
  if (const MaybeProblem problem = prepare(context, call, parse, &request, &prompts))
    return refuse(context, call, *problem);
  const auto job = std::make_shared<GenerationJob>(context, std::move(call), std::move(request),
                                                   std::move(prompts));
  if (const MaybeProblem problem = job->start()) return refuse(context, job->call(), *problem);
  context.watch(job);
}

}  // namespace

void serve_chat(ApiContext& context, Call call) {
  generate(context, std::move(call), parse_chat_request);
}
void serve_completions(ApiContext& context, Call call) {
  generate(context, std::move(call), parse_completion_request);
}
void serve_responses(ApiContext& context, Call call) {
  generate(context, std::move(call), parse_responses_request);
}
void serve_messages(ApiContext& context, Call call) {
  generate(context, std::move(call), parse_messages_request);
}

}  // namespace trine::server
