// Requests and scripted answers of the four generation APIs, for the tests of their formats.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "server/answer.h"
#include "server/generation.h"
#include "trine/tokenizer.h"

namespace trine::server::test {

/// models/k3-nano.
const Tokenizer& nano();
json::Value parse_json(const std::string& text);

/// The path of an API's request: how tests name it.
MaybeProblem parse_request(ApiKind api, const std::string& body, GenerationRequest* out,
                           RequestRules rules = {});
/// Must be accepted.
GenerationRequest accepted(ApiKind api, const std::string& body);

/// What the model says: control tokens are spelled; then how it ended.
struct Script {
  std::string text;
  EndReason reason = EndReason::kStop;
};

/// Runs a script through Output and Answer.
struct Answered {
  std::string stream;  ///< all that was sent, when request.stream
  json::Value whole;
};
Answered answer(const GenerationRequest& request, const std::vector<Script>& scripts);

/// The events of a stream: name (empty: none) and data.
struct SseEvent {
  std::string name;
  std::string data;
};
std::vector<SseEvent> events_of(const std::string& stream);

/// The stream put together as a client of that API does it.
json::Value put_together(ApiKind api, const std::string& stream);

}  // namespace trine::server::test
