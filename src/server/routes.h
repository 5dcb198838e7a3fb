// The routes of the server and what each does.
#pragma once

#include <span>
#include <string_view>

#include "server/api_context.h"

namespace trine::server {

struct FieldTable;

struct Route {
  const char* method;
  std::string_view path;  ///< {id}: one segment of the path
  /// Called by a thread of the pool, or, if `quick`, by the io thread.
  void (*serve)(ApiContext& context, Call call);
  bool quick = false;
  bool open = false;       ///< needs no key
  bool generates = false;  ///< counts as a running request of its client
  const FieldTable* body = nullptr;
  const char* summary = "";
};
std::span<const Route> routes();

// generation_routes.cc
void serve_chat(ApiContext& context, Call call);
void serve_completions(ApiContext& context, Call call);
void serve_responses(ApiContext& context, Call call);
void serve_messages(ApiContext& context, Call call);

// text_routes.cc
extern const FieldTable kTokenizeRequest;
extern const FieldTable kDetokenizeRequest;
void serve_count_tokens(ApiContext& context, Call call);
void serve_tokenize(ApiContext& context, Call call);
void serve_detokenize(ApiContext& context, Call call);
void serve_tokenizer_info(ApiContext& context, Call call);
void serve_render(ApiContext& context, Call call);

// info_routes.cc
void serve_models(ApiContext& context, Call call);
void serve_model(ApiContext& context, Call call);
void serve_health(ApiContext& context, Call call);
void serve_ready(ApiContext& context, Call call);
void serve_version(ApiContext& context, Call call);
void serve_metrics(ApiContext& context, Call call);
void serve_flush(ApiContext& context, Call call);
void serve_openapi(ApiContext& context, Call call);

/// The server's own description, from the tables that requests are checked with.
json::Value openapi(const ApiOptions& options);

}  // namespace trine::server
