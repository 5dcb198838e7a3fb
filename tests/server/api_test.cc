// The server above HTTP: routes, keys, limits, errors, usage, cancellation, against a scripted
// service.
#include "server/api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/api_fixture.h"
#include "server/fake_service.h"
#include "trine/chat.h"

namespace trine::server::test {
namespace {

using json::Value;

constexpr const char* kAnswer =
    "Thought.<|close|>think<|sep|><|open|>response<|sep|>Hello, world."
    "<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>";

class ApiTest : public testing::Test {
 protected:
  ApiTest() : service_(std::make_unique<FakeService>(nano())) {
    service_->script = [](const serving::Request&, size_t) { return kAnswer; };
    options_.model_names = {"nano", "also-nano"};
    options_.version = "1.2.3";
    options_.log = [this](const Value& entry) {
      const std::lock_guard<std::mutex> lock(mutex_);
      log_ += json::dump(entry) + "\n";
    };
    options_.trace = [this](const RequestTrace& trace) {
      const std::lock_guard<std::mutex> lock(mutex_);
      traces_.push_back(trace);
    };
  }
  ~ApiTest() override {
    if (api_) api_->stop();
    service_.reset();  // ends what runs before the api goes
  }

  Api& api() {
    if (!api_) api_ = std::make_unique<Api>(nano(), *service_, options_);
    return *api_;
  }

  std::shared_ptr<FakeExchange> send(const std::string& method, const std::string& target,
                                     const std::string& body, http::Headers headers = {}) {
    http::Request request;
    request.id = "req-1";
    request.method = method;
    EXPECT_TRUE(http::split_target(target, &request));
    request.headers = std::move(headers);
    request.body = body;
    auto exchange = std::make_shared<FakeExchange>();
    api().handle(std::move(request), exchange);
    return exchange;
  }

  std::shared_ptr<FakeExchange> finished(const std::string& method, const std::string& target,
                                         const std::string& body, http::Headers headers = {}) {
    auto exchange = send(method, target, body, std::move(headers));
    EXPECT_TRUE(exchange->wait()) << target << " " << body;
    return exchange;
  }

  Value answered(const std::string& target, const std::string& body) {
    const auto exchange = finished("POST", target, body);
    EXPECT_EQ(exchange->status(), 200) << exchange->body();
    return parse_json(exchange->body());
  }

  static std::string chat(const std::string& fields = "") {
    return R"({"messages":[{"role":"user","content":"hi"}])" +
           (fields.empty() ? "" : "," + fields) + "}";
  }

  std::string log() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return log_;
  }

  ApiOptions options_;
  std::unique_ptr<FakeService> service_;
  std::unique_ptr<Api> api_;
  std::mutex mutex_;
  std::string log_;
  std::vector<RequestTrace> traces_;
};

int64_t number_at(const Value& value, std::initializer_list<const char*> path) {
  const Value* at = &value;
  for (const char* key : path) {
    at = at->find(key);
    if (at == nullptr) return -1;
  }
  int64_t out = -1;
  EXPECT_TRUE(at->to_int64(&out));
  return out;
}

TEST_F(ApiTest, AnswersAChatWithUsageAsTheVendorCounts) {
  const Value answer = answered("/v1/chat/completions", chat());
  const Value& choice = answer.find("choices")->as_array()[0];
  EXPECT_EQ(choice.find("message")->find("content")->as_string(), "Hello, world.");
  EXPECT_EQ(choice.find("message")->find("reasoning_content")->as_string(), "Thought.");
  EXPECT_EQ(choice.find("finish_reason")->as_string(), "stop");
  EXPECT_TRUE(answer.find("id")->as_string().starts_with("chatcmpl-"));
  EXPECT_EQ(answer.find("model")->as_string(), "nano");
  const auto prompt = static_cast<int64_t>(service_->requests()[0].prompt.size());
  const auto stub = static_cast<int64_t>(nano().encode("<|open|>think<|sep|>", true).size());
  EXPECT_EQ(number_at(answer, {"usage", "prompt_tokens"}), prompt - stub);
  const auto said = static_cast<int64_t>(nano().encode(kAnswer, true).size());
  EXPECT_EQ(number_at(answer, {"usage", "completion_tokens"}), said);
  EXPECT_EQ(number_at(answer, {"usage", "total_tokens"}), prompt - stub + said);
  EXPECT_EQ(number_at(answer, {"usage", "prompt_tokens_details", "cached_tokens"}), 2);
  const int64_t reasoning =
      number_at(answer, {"usage", "completion_tokens_details", "reasoning_tokens"});
  EXPECT_GT(reasoning, 0);
  EXPECT_LT(reasoning, said);
}

TEST_F(ApiTest, CountsTheWholePromptWhenAskedTo) {
  options_.usage_counts_stub = true;
  service_->cached = 1 << 30;
  const Value answer = answered("/v1/chat/completions", chat());
  const auto prompt = static_cast<int64_t>(service_->requests()[0].prompt.size());
  EXPECT_EQ(number_at(answer, {"usage", "prompt_tokens"}), prompt);
  EXPECT_EQ(number_at(answer, {"usage", "prompt_tokens_details", "cached_tokens"}), prompt);
}

TEST_F(ApiTest, NeverCallsMoreTokensCachedThanThePromptHas) {
  service_->cached = 1 << 30;
  const std::string stream = R"("stream":true,"stream_options":{"include_usage":true})";
  for (const std::string& fields : {std::string(), stream}) {
    const auto exchange = finished("POST", "/v1/chat/completions", chat(fields));
    for (const SseEvent& event : fields.empty() ? std::vector<SseEvent>{{"", exchange->body()}}
                                                : events_of(exchange->body())) {
      if (event.data == "[DONE]") continue;
      const Value value = parse_json(event.data);
      if (value.find("usage") == nullptr || value.find("usage")->is_null()) continue;
      EXPECT_EQ(number_at(value, {"usage", "prompt_tokens_details", "cached_tokens"}),
                number_at(value, {"usage", "prompt_tokens"}));
    }
  }
}

TEST_F(ApiTest, StreamsWhatItWouldAnswerWhole) {
  const struct {
    ApiKind api;
    const char* target;
    std::string body;
  } cases[] = {{ApiKind::kChat, "/v1/chat/completions", chat()},
               {ApiKind::kResponses, "/v1/responses", R"({"input":"hi"})"},
               {ApiKind::kMessages, "/v1/messages?beta=true",
                R"({"max_tokens":100,"messages":[{"role":"user","content":"hi"}]})"}};
  for (const auto& c : cases) {
    const Value whole = answered(c.target, c.body);
    const std::string streamed = c.body.substr(0, c.body.size() - 1) + R"(,"stream":true})";
    const auto exchange = finished("POST", c.target, streamed);
    EXPECT_EQ(exchange->status(), 200);
    EXPECT_TRUE(exchange->header("Content-Type").starts_with("text/event-stream"));
    EXPECT_EQ(exchange->keep_alive_bytes(), ": keep-alive\n\n");
    const Value together = put_together(c.api, exchange->body());
    const char* key = c.api == ApiKind::kChat       ? "choices"
                      : c.api == ApiKind::kMessages ? "content"
                                                    : "output";
    EXPECT_EQ(together.find(key)->as_array().size(), whole.find(key)->as_array().size());
    EXPECT_NE(json::dump(together).find("Hello, world."), std::string::npos);
    EXPECT_NE(json::dump(whole).find("Hello, world."), std::string::npos);
    EXPECT_NE(together.find("id")->as_string(), whole.find("id")->as_string());
  }
}

TEST_F(ApiTest, RunsSeveralAnswersWithSeedsOfTheirOwn) {
  const Value answer = answered("/v1/chat/completions", chat(R"("n":3,"seed":41)"));
  EXPECT_EQ(answer.find("choices")->as_array().size(), 3u);
  const std::vector<serving::Request> requests = service_->requests();
  ASSERT_EQ(requests.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(requests[i].sampling.seed, 41 + i);
    EXPECT_EQ(requests[i].prompt, requests[0].prompt);
  }
}

TEST_F(ApiTest, ReadsAPromptOnceBeforeItsOtherAnswersAreSubmitted) {
  service_->held = true;
  const auto exchange = send("POST", "/v1/chat/completions", chat(R"("n":3)"));
  ASSERT_TRUE(service_->wait_for_submits(1));
  EXPECT_EQ(service_->requests().size(), 1u);
  service_->held = false;
  EXPECT_TRUE(exchange->wait());
  EXPECT_EQ(service_->requests().size(), 3u);
}

TEST_F(ApiTest, DrawsASeedWhenNoneIsGiven) {
  answered("/v1/chat/completions", chat());
  answered("/v1/chat/completions", chat());
  EXPECT_NE(service_->requests()[0].sampling.seed, service_->requests()[1].sampling.seed);
}

TEST_F(ApiTest, EchoesPromptsWithLogprobs) {
  service_->script = [](const serving::Request&, size_t) { return " and more"; };
  for (const int max_tokens : {0, 1, 9}) {
    for (const char* n : {"1", "2"}) {
      const Value answer =
          answered("/v1/completions", R"({"prompt":"Once upon","echo":true,"logprobs":1,"n":)" +
                                          std::string(n) + R"(,"max_tokens":)" +
                                          std::to_string(max_tokens) + "}");
      for (const Value& choice : answer.find("choices")->as_array()) {
        const Value& logprobs = *choice.find("logprobs");
        const std::string text = choice.find("text")->as_string();
        EXPECT_TRUE(text.starts_with("Once upon"));
        const size_t prompt = nano().encode("Once upon").size();
        const size_t said =
            std::min<size_t>(static_cast<size_t>(max_tokens), nano().encode(" and more").size());
        ASSERT_EQ(logprobs.find("tokens")->as_array().size(), prompt + said);
        EXPECT_TRUE(logprobs.find("token_logprobs")->as_array()[0].is_null());
        EXPECT_TRUE(logprobs.find("top_logprobs")->as_array()[0].is_null());
        std::string joined;
        for (size_t i = 0; i < prompt + said; ++i) {
          joined += logprobs.find("tokens")->as_array()[i].as_string();
          EXPECT_EQ(logprobs.find("token_logprobs")->as_array()[i].is_number(), i > 0);
        }
        EXPECT_EQ(joined, text);
      }
    }
  }
}

TEST_F(ApiTest, AnswersManyPromptsInOrder) {
  service_->script = [](const serving::Request& request, size_t) {
    return "[" + *nano().decode(request.prompt) + "]";
  };
  std::string prompts;
  for (int i = 0; i < 40; ++i) prompts += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\"";
  const Value answer = answered("/v1/completions", R"({"prompt":[)" + prompts + "]}");
  ASSERT_EQ(answer.find("choices")->as_array().size(), 40u);
  for (size_t i = 0; i < 40; ++i)
    EXPECT_EQ(answer.find("choices")->as_array()[i].find("text")->as_string(),
              "[p" + std::to_string(i) + "]");
}

TEST_F(ApiTest, ChoosesMaxTokensFromTheContext) {
  service_->context_size = 100000;
  answered("/v1/chat/completions", chat());
  EXPECT_EQ(service_->requests()[0].max_tokens, 4096);
  service_->context_size = 300;
  answered("/v1/chat/completions", chat());
  const serving::Request small = service_->requests()[1];
  EXPECT_EQ(small.max_tokens + static_cast<int64_t>(small.prompt.size()), 300);
}

TEST_F(ApiTest, RefusesWhatCannotFitWithTheNumbers) {
  service_->context_size = 64;
  const auto expect = [&](const std::string& target, const std::string& body,
                          const std::string& param) {
    const auto exchange = finished("POST", target, body);
    EXPECT_EQ(exchange->status(), 400);
    const Value answer = parse_json(exchange->body());
    const Value& error = *answer.find("error");
    EXPECT_EQ(error.find("code")->as_string(), "context_length_exceeded");
    EXPECT_EQ(error.find("param")->as_string(), param);
    EXPECT_NE(error.find("message")->as_string().find("64"), std::string::npos);
  };
  const std::string many(2000, 'x');
  expect("/v1/completions", R"({"prompt":"a b c d e f g h i j k )" + many + "\"}", "prompt");
  expect("/v1/completions", R"({"prompt":"a","max_tokens":100})", "max_tokens");
}

TEST_F(ApiTest, SaysWhatIsWrongInTheWordsOfTheApi) {
  const auto openai = finished("POST", "/v1/chat/completions", chat(R"("temperature":3)"));
  EXPECT_EQ(openai->status(), 400);
  const Value openai_body = parse_json(openai->body());
  const Value& error = *openai_body.find("error");
  EXPECT_EQ(error.find("type")->as_string(), "invalid_request_error");
  EXPECT_EQ(error.find("param")->as_string(), "temperature");
  const auto anthropic = finished("POST", "/v1/messages", R"({"messages":[]})");
  EXPECT_EQ(anthropic->status(), 400);
  const Value body = parse_json(anthropic->body());
  EXPECT_EQ(body.find("type")->as_string(), "error");
  EXPECT_EQ(body.find("error")->find("type")->as_string(), "invalid_request_error");
  EXPECT_EQ(body.find("request_id")->as_string(), "req-1");
}

TEST_F(ApiTest, AnswersEveryMistakeWith4xx) {
  const auto status = [&](const std::string& method, const std::string& target,
                          const std::string& body = "") {
    return finished(method, target, body)->status();
  };
  for (const char* body : {"", "{", "[]", "null", "7", "{\"messages\":1}", "{\"a\":1,\"a\":2}",
                           "\xff", "{\"messages\":[{\"role\":\"tool\",\"content\":\"x\"}]}"})
    EXPECT_EQ(status("POST", "/v1/chat/completions", body), 400) << body;
  EXPECT_EQ(status("POST", "/v1/chat/completions", chat(R"("model":"other")")), 404);
  EXPECT_EQ(status("POST", "/v1/chat/completions", chat(R"("model":"also-nano")")), 200);
  EXPECT_EQ(status("GET", "/nothing"), 404);
  EXPECT_EQ(status("GET", "/v1/chat/completions"), 405);
  EXPECT_EQ(status("DELETE", "/v1/models"), 405);
  EXPECT_EQ(status("GET", "/v1/models/other"), 404);
  EXPECT_EQ(status("POST", "/v1/chat/completions",
                   chat(R"("response_format":{"type":"json_schema","json_schema":
                        {"name":"n","schema":{"type":"nonsense"}}})")),
            400);
  EXPECT_EQ(status("POST", "/v1/completions", R"({"prompt":"x","grammar":"root ::= ("})"), 400);
}

TEST_F(ApiTest, AsksToComeAgainWhenTheQueueIsFull) {
  service_->busy = true;
  for (const char* fields : {"", R"("stream":true)"}) {
    const auto exchange = finished("POST", "/v1/chat/completions", chat(fields));
    EXPECT_EQ(exchange->status(), 429);
    EXPECT_EQ(exchange->header("Retry-After"), "1");
  }
}

TEST_F(ApiTest, LetsOnlyKeysIn) {
  options_.keys = {"secret-one", "secret-two"};
  const auto status = [&](http::Headers headers, const char* target = "/v1/models") {
    return finished("GET", target, "", std::move(headers))->status();
  };
  EXPECT_EQ(status({}), 401);
  EXPECT_EQ(status({{"Authorization", "Bearer wrong"}}), 401);
  EXPECT_EQ(status({{"Authorization", "Bearer secret-on"}}), 401);
  EXPECT_EQ(status({{"Authorization", "Bearer secret-one2"}}), 401);
  EXPECT_EQ(status({{"Authorization", "Bearer secret-two"}}), 200);
  EXPECT_EQ(status({{"authorization", "bearer secret-one"}}), 200);
  EXPECT_EQ(status({{"X-Api-Key", "secret-one"}}), 200);
  EXPECT_EQ(status({}, "/nothing"), 401);  // what exists is nobody's business
  EXPECT_EQ(status({}, "/health"), 200);
  EXPECT_EQ(status({}, "/metrics"), 401);
}

TEST_F(ApiTest, AcceptsAnyAuthorizationWithoutKeys) {
  EXPECT_EQ(finished("GET", "/v1/models", "", {{"Authorization", "Bearer whatever"}})->status(),
            200);
}

TEST_F(ApiTest, BoundsTheRequestsOfAKey) {
  options_.keys = {"k1", "k2"};
  options_.running_per_client_max = 1;
  service_->held = true;
  const auto first = send("POST", "/v1/chat/completions", chat(), {{"Authorization", "Bearer k1"}});
  const auto second =
      finished("POST", "/v1/chat/completions", chat(), {{"Authorization", "Bearer k1"}});
  EXPECT_EQ(second->status(), 429);
  const auto other = send("POST", "/v1/chat/completions", chat(), {{"x-api-key", "k2"}});
  service_->held = false;
  EXPECT_TRUE(first->wait());
  EXPECT_TRUE(other->wait());
  EXPECT_EQ(first->status(), 200);
  EXPECT_EQ(other->status(), 200);
  EXPECT_NE(service_->requests()[0].client, service_->requests()[1].client);
}

TEST_F(ApiTest, CancelsWhenTheClientGoes) {
  for (const char* fields : {"", R"("stream":true)", R"("n":2)"}) {
    service_->held = true;
    const size_t before = service_->requests().size();
    const auto exchange = send("POST", "/v1/chat/completions", chat(fields));
    ASSERT_TRUE(service_->wait_for_submits(before + 1));
    // Its id may still be on its way; both orders must cancel.
    exchange->close();
    while (service_->cancelled().size() < before + 1) std::this_thread::yield();
    service_->held = false;
  }
  EXPECT_EQ(service_->requests().size(), 3u);  // the second answer of n was never asked for
  EXPECT_NE(log().find("client_gone"), std::string::npos);
}

TEST_F(ApiTest, TellsOfAFailureAndHarmsNobodyElse) {
  service_->fail_at = 3;
  const auto whole = finished("POST", "/v1/chat/completions", chat());
  EXPECT_EQ(whole->status(), 500);
  const auto stream = finished("POST", "/v1/chat/completions", chat(R"("stream":true)"));
  EXPECT_EQ(stream->status(), 200);
  EXPECT_NE(stream->body().find("not_finite"), std::string::npos);
  EXPECT_EQ(stream->body().find("[DONE]"), std::string::npos);
  service_->fail_at = -1;
  EXPECT_EQ(finished("POST", "/v1/chat/completions", chat())->status(), 200);
}

TEST_F(ApiTest, CutsAtStopStringsAndEndsTheRequest) {
  const Value answer = answered("/v1/chat/completions", chat(R"("stop":", w")"));
  const Value& choice = answer.find("choices")->as_array()[0];
  EXPECT_EQ(choice.find("message")->find("content")->as_string(), "Hello");
  EXPECT_EQ(choice.find("finish_reason")->as_string(), "stop");
}

TEST_F(ApiTest, NarrowsTokensWhereTheRequestSaysSo) {
  answered("/v1/chat/completions", chat());
  EXPECT_EQ(service_->mask_calls(), 0);
  service_->script = [](const serving::Request&, size_t) { return "yes"; };
  const Value answer =
      answered("/v1/completions", R"({"prompt":"x","grammar":"root ::= \"yes\""})");
  EXPECT_GT(service_->mask_calls(), 0);
  EXPECT_EQ(answer.find("choices")->as_array()[0].find("text")->as_string(), "yes");
}

TEST_F(ApiTest, SendsProgressOnlyWhenAskedFor) {
  const auto asked =
      finished("POST", "/v1/chat/completions", chat(R"("stream":true,"return_progress":true)"));
  EXPECT_NE(asked->body().find("prompt_progress"), std::string::npos);
  const auto silent = finished("POST", "/v1/chat/completions", chat(R"("stream":true)"));
  EXPECT_EQ(silent->body().find("prompt_progress"), std::string::npos);
}

TEST_F(ApiTest, CountsTokensAsItWillBillThem) {
  const std::string text = "hi <|open|>message<|sep|> there";
  const Value ids =
      answered("/tokenize", R"({"prompt":")" + text + R"(","add_special_tokens":true})");
  EXPECT_EQ(number_at(ids, {"count"}), static_cast<int64_t>(ids.find("tokens")->as_array().size()));
  for (const Value& id : ids.find("tokens")->as_array()) {
    int64_t value = 0;
    ASSERT_TRUE(id.to_int64(&value));
    EXPECT_FALSE(nano().is_control(static_cast<int32_t>(value)));
  }
  const Value back =
      answered("/detokenize", R"({"tokens":)" + json::dump(*ids.find("tokens")) + "}");
  EXPECT_EQ(back.find("prompt")->as_string(), text);
  const Value usage = answered("/v1/completions", R"({"prompt":")" + text + R"(","max_tokens":1})");
  EXPECT_EQ(number_at(usage, {"usage", "prompt_tokens"}), number_at(ids, {"count"}));

  const std::string messages = R"("messages":[{"role":"user","content":")" + text + R"("}])";
  const Value counted = answered("/v1/messages/count_tokens", "{" + messages + "}");
  const Value billed = answered("/v1/messages", "{\"max_tokens\":50," + messages + "}");
  EXPECT_EQ(number_at(billed, {"usage", "input_tokens"}) +
                number_at(billed, {"usage", "cache_read_input_tokens"}),
            number_at(counted, {"input_tokens"}));
  const Value rendered = answered("/render", "{" + messages + "}");
  EXPECT_EQ(number_at(rendered, {"count"}), number_at(counted, {"input_tokens"}));
  EXPECT_EQ(number_at(answered("/tokenize", "{" + messages + "}"), {"count"}),
            number_at(counted, {"input_tokens"}));
}

TEST_F(ApiTest, TellsWhatItIs) {
  const auto get = [&](const std::string& target) {
    const auto exchange = finished("GET", target, "");
    EXPECT_EQ(exchange->status(), 200) << target;
    return exchange->body();
  };
  EXPECT_EQ(get("/version"), R"({"version":"1.2.3"})");
  EXPECT_NE(get("/v1/models").find("\"also-nano\""), std::string::npos);
  EXPECT_NE(get("/v1/models/nano").find("\"max_model_len\":4096"), std::string::npos);
  EXPECT_NE(get("/tokenizer_info").find("[EOS]"), std::string::npos);
  answered("/v1/chat/completions", chat());
  const std::string metrics = get("/metrics");
  for (const char* name :
       {"trine_requests_waiting", "trine_requests_running", "trine_prefill_tokens_total",
        "trine_decode_tokens_total", "trine_time_to_first_token_seconds_count 1",
        "trine_inter_token_seconds_bucket", "trine_request_seconds_sum", "trine_latent_pages_used",
        "trine_state_slots_used", "trine_snapshots ", "trine_spilled_bytes",
        "trine_prefix_cache_total{result=\"miss\",reason=\"cold\"}",
        "trine_answers_total{route=\"/v1/chat/completions\",code=\"200\"} 1"})
    EXPECT_NE(metrics.find(name), std::string::npos) << name;
  const Value description = parse_json(get("/openapi.json"));
  EXPECT_NE(description.find("paths")->find("/v1/chat/completions"), nullptr);
  EXPECT_NE(json::dump(description).find("\"max_completion_tokens\""), std::string::npos);
  EXPECT_EQ(finished("POST", "/cache/flush", "")->status(), 200);
  EXPECT_EQ(service_->flushes, 1);
}

TEST_F(ApiTest, ServesThePagesItWasGiven) {
  options_.pages = {{"/", "text/html", "<html>"}};
  EXPECT_EQ(finished("GET", "/", "")->body(), "<html>");
  EXPECT_EQ(finished("GET", "/other", "")->status(), 404);
}

TEST_F(ApiTest, TakesNothingNewWhileItDrains) {
  EXPECT_EQ(finished("GET", "/ready", "")->status(), 200);
  service_->held = true;
  const auto before = send("POST", "/v1/chat/completions", chat());
  ASSERT_TRUE(service_->wait_for_submits(1));
  api().drain();
  EXPECT_EQ(finished("GET", "/ready", "")->status(), 503);
  EXPECT_EQ(finished("GET", "/health", "")->status(), 200);
  EXPECT_EQ(finished("POST", "/v1/chat/completions", chat())->status(), 503);
  service_->held = false;
  EXPECT_TRUE(before->wait());
  EXPECT_EQ(before->status(), 200);
}

TEST_F(ApiTest, LogsNeitherTextNorKeys) {
  options_.keys = {"top-secret"};
  const http::Headers key = {{"Authorization", "Bearer top-secret"}};
  const std::string words = R"({"messages":[{"role":"user","content":"private words"}])";
  finished("POST", "/v1/chat/completions", words + "}", key);
  finished("POST", "/v1/chat/completions", words + R"(,"temperature":"private words"})", key);
  finished("POST", "/v1/chat/completions", words + "}", {{"x-api-key", "wrong-secret"}});
  const std::string text = log();
  EXPECT_NE(text.find("\"prompt_tokens\""), std::string::npos);
  EXPECT_NE(text.find("\"status\":401"), std::string::npos);
  EXPECT_EQ(text.find("private"), std::string::npos) << text;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  EXPECT_EQ(text.find("Hello"), std::string::npos) << text;
  const std::lock_guard<std::mutex> lock(mutex_);
  ASSERT_EQ(traces_.size(), 1u);
  EXPECT_GT(traces_[0].completion_tokens, 0);
}

TEST_F(ApiTest, KeepsALongWholeAnswerAlive) {
  options_.keep_alive = std::chrono::milliseconds(1000);  // begun at the first tick
  service_->held = true;
  const auto exchange = send("POST", "/v1/chat/completions", chat());
  ASSERT_TRUE(exchange->wait_for_text(" "));
  EXPECT_EQ(exchange->status(), 200);
  EXPECT_EQ(exchange->keep_alive_bytes(), " ");
  service_->held = false;
  EXPECT_TRUE(exchange->wait());
  EXPECT_NE(json::dump(parse_json(exchange->body())).find("Hello, world."), std::string::npos);
}

TEST_F(ApiTest, GivesNoIdTwice) {
  std::vector<std::string> ids;
  ids.reserve(20);
  for (int i = 0; i < 20; ++i)
    ids.push_back(answered("/v1/chat/completions", chat()).find("id")->as_string());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace
}  // namespace trine::server::test
