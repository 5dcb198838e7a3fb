// What a client asked for, whatever API it spoke: the meeting point of parsing and answering.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "server/problem.h"
#include "serving/request.h"

namespace trine::server {

enum class ApiKind { kChat, kCompletions, kResponses, kMessages };

/// What a parser must know of the server.
struct RequestRules {
  int64_t vocab_size = 0;
  int64_t n_max = 16;          ///< choices of one request, over all its prompts
  bool vendor_strict = false;  ///< sampling is fixed, as the vendor's own service has it
  float temperature = 1.0f;    ///< defaults
  float top_p = 0.95f;
};

/// What the answer must look like.
struct Shape {
  enum class Kind { kFree, kJsonObject, kJsonSchema, kGrammar };
  Kind kind = Kind::kFree;
  json::Value schema;   ///< kJsonSchema
  std::string grammar;  ///< kGrammar: GBNF
};

/// Which tools may or must be called; the tools are those of the chat.
struct ToolUse {
  enum class Choice { kAuto, kNone, kRequired };
  Choice choice = Choice::kAuto;
  std::string name;  ///< kRequired: this one; empty: any
};

/// A prompt of /v1/completions.
struct PlainPrompt {
  std::string text;
  std::vector<int32_t> ids;
  bool is_ids = false;
};

struct GenerationRequest {
  ApiKind api = ApiKind::kChat;
  std::string model;  ///< as asked for; empty: whatever is served

  json::Value chat;                  ///< {"messages", "tools", "options"} for render_chat
  std::vector<PlainPrompt> prompts;  ///< kCompletions; at least one
  bool thinking = false;             ///< the prompt ends with an open think channel
  serving::Request request;          ///< prompt and client are filled in later
  bool has_max_tokens = false;       ///< else the default
  bool has_seed = false;             ///< else drawn
  int64_t n = 1;                     ///< answers for each prompt
  std::vector<std::string> stop;
  bool include_stop = false;
  Shape shape;
  ToolUse tool_use;

  bool echo = false;  ///< kCompletions: the prompt is part of the text
  bool logprobs = false;
  bool stream = false;
  bool include_usage = false;     ///< a last chunk with the usage
  bool continuous_usage = false;  ///< usage in every chunk
  bool progress = false;          ///< events while the prompt is read
  json::Value repeated;           ///< kResponses: fields that the answer repeats
};

/// Each checks the request's JSON against its API and reads it. Pure functions.
MaybeProblem parse_chat_request(const json::Value& body, const RequestRules& rules,
                                GenerationRequest* out);
MaybeProblem parse_completion_request(const json::Value& body, const RequestRules& rules,
                                      GenerationRequest* out);
MaybeProblem parse_responses_request(const json::Value& body, const RequestRules& rules,
                                     GenerationRequest* out);
MaybeProblem parse_messages_request(const json::Value& body, const RequestRules& rules,
                                    GenerationRequest* out);
/// /v1/messages/count_tokens: what decides the prompt, and nothing else.
MaybeProblem parse_count_tokens_request(const json::Value& body, const RequestRules& rules,
                                        GenerationRequest* out);

}  // namespace trine::server
