// What the answers of OpenAI's two older APIs have in common: objects with choices, and a stream of
// chunks of the same form that ends with [DONE].
#pragma once

#include <string>
#include <utility>

#include "server/answer.h"

namespace trine::server {

class OpenAiAnswer : public Answer {
 public:
  std::string progress(int64_t done, int64_t total, int64_t cached) override {
    json::Value figures;
    figures.set("total", total);
    figures.set("cached", cached);
    figures.set("processed", done);
    json::Value chunk = object(chunk_name_, json::Value::array());
    chunk.set("prompt_progress", std::move(figures));
    return sse_data(chunk);
  }

  std::string end(const Usage& usage) override {
    std::string out;
    if (request_.include_usage) {
      json::Value chunk = object(chunk_name_, json::Value::array());
      chunk.set("usage", openai_usage(usage));
      out += sse_data(chunk);
    }
    return out + "data: [DONE]\n\n";
  }

  std::string fail(const Problem& problem) override { return sse_data(openai_error(problem)); }

  json::Value whole(const Usage& usage) override {
    json::Value all = json::Value::array();
    for (size_t i = 0; i < choices().size(); ++i) all.push(whole_choice(i));
    json::Value out = object(whole_name_, std::move(all));
    out.set("usage", openai_usage(usage));
    return out;
  }

 protected:
  OpenAiAnswer(const GenerationRequest& request, AnswerInfo info, const Tokenizer& tokenizer,
               const char* whole_name, const char* chunk_name)
      : Answer(request, std::move(info), tokenizer),
        whole_name_(whole_name),
        chunk_name_(chunk_name) {}

  virtual json::Value whole_choice(size_t index) const = 0;

  /// A chunk with this one choice.
  std::string chunk(json::Value choice) const {
    json::Value all = json::Value::array();
    all.push(std::move(choice));
    json::Value out = object(chunk_name_, std::move(all));
    if (request_.continuous_usage)
      out.set("usage", openai_usage(so_far()));
    else if (request_.include_usage)
      out.set("usage", json::Value());
    return sse_data(out);
  }

 private:
  json::Value object(const char* name, json::Value all) const {
    json::Value out;
    out.set("id", info_.id);
    out.set("object", name);
    out.set("created", info_.created);
    out.set("model", info_.model);
    out.set("choices", std::move(all));
    return out;
  }

  const char* whole_name_;
  const char* chunk_name_;
};

}  // namespace trine::server
