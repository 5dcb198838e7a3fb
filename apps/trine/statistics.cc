// Speed and memory of an answer, for people and as JSON.
#include <array>
#include <cstdio>

#include "answer.h"
#include "common.h"
#include "json_text.h"
#include "model_options.h"

namespace trine::cli {
namespace {

std::string fixed(double value, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string rate(double per_second) {
  if (per_second <= 0) return "";
  return " at " + fixed(per_second, per_second < 10 ? 2 : 1) + " tok/s";
}

}  // namespace

std::string statistics_text(const Model& model, const Generation& generation, double load_seconds) {
  std::string text = "prompt " + std::to_string(generation.prompt_tokens) + " tokens" +
                     rate(generation.prefill_rate()) + " | generated " +
                     std::to_string(generation.ids.size()) + " tokens" +
                     rate(generation.decode_rate()) + " | first token " +
                     fixed(generation.first_token_seconds, 2) + " s";
  if (load_seconds >= 0) text += " | load " + fixed(load_seconds, 2) + " s";
  return text + "\npeak memory " + bytes_text(peak_memory_bytes()) + " | " +
         std::to_string(model.threads()) + (model.threads() == 1 ? " thread" : " threads") + " | " +
         model.isa() + " | kernels " + model.kernels() + "\n";
}

std::string answer_json(const Model& model, const Answer& answer, Precision precision,
                        double load_seconds) {
  const Generation& generation = answer.generation;
  const auto generated = static_cast<int64_t>(generation.ids.size());
  const std::string usage = JsonObject()
                                .integer("prompt_tokens", generation.prompt_tokens)
                                .integer("completion_tokens", generated)
                                .integer("total_tokens", generation.prompt_tokens + generated)
                                .str();
  const std::string timings = JsonObject()
                                  .real("load_seconds", load_seconds)
                                  .real("prefill_seconds", generation.prefill_seconds)
                                  .real("first_token_seconds", generation.first_token_seconds)
                                  .real("decode_seconds", generation.decode_seconds)
                                  .real("prefill_tokens_per_s", generation.prefill_rate())
                                  .real("decode_tokens_per_s", generation.decode_rate())
                                  .str();
  const std::string machine = JsonObject()
                                  .text("isa", model.isa())
                                  .text("kernels", model.kernels())
                                  .text("precision", precision_name(precision))
                                  .integer("threads", model.threads())
                                  .integer("context", model.context())
                                  .integer("peak_rss_bytes", peak_memory_bytes())
                                  .str();
  return JsonObject()
      .text("reasoning", answer.message.reasoning)
      .text("content", answer.message.content)
      .raw("tool_calls", json_tool_calls(answer.message.tool_calls))
      .text("finish_reason", answer.finish_reason)
      .raw("usage", usage)
      .raw("timings", timings)
      .raw("machine", machine)
      .str();
}

}  // namespace trine::cli
