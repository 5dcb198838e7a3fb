// Fields that several APIs have in common, and what they mean.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "server/fields.h"
#include "server/generation.h"

namespace trine::server {

template <size_t A, size_t B>
constexpr std::array<Field, A + B> joined(const std::array<Field, A>& a,
                                          const std::array<Field, B>& b) {
  std::array<Field, A + B> out{};
  for (size_t i = 0; i < A; ++i) out[i] = a[i];
  for (size_t i = 0; i < B; ++i) out[A + i] = b[i];
  return out;
}

inline constexpr std::string_view kEfforts = "none|minimal|off|low|medium|high|max";
inline constexpr std::string_view kNoEffect = "Accepted without effect.";

/// {thinking, thinking_effort}
extern const FieldTable kTemplateOptions;

/// Sampling, limits and what is accepted without effect: the same words in every API.
inline constexpr auto kCommonFields = std::to_array<Field>({
    {.name = "model", .types = kString},
    {.name = "temperature", .types = kNumber, .min = 0, .max = 2, .note = "0: the likeliest token"},
    {.name = "top_p", .types = kNumber, .min = 0, .max = 1, .above_min = true},
    {.name = "top_k", .types = kInt, .min = -1, .note = "0 or -1: all tokens"},
    {.name = "min_p", .types = kNumber, .min = 0, .max = 1},
    {.name = "presence_penalty", .types = kNumber, .min = -2, .max = 2},
    {.name = "frequency_penalty", .types = kNumber, .min = -2, .max = 2},
    {.name = "repetition_penalty", .types = kNumber, .min = 0, .max = 10, .above_min = true},
    {.name = "logit_bias", .types = kObject, .note = "Token ids to numbers from -100 to 100."},
    {.name = "seed", .types = kInt},
    {.name = "stop_token_ids", .types = kArray, .items = kInt, .items_max = 64},
    {.name = "min_tokens", .types = kInt, .min = 0},
    {.name = "ignore_eos", .types = kBool},
    {.name = "include_stop_str_in_output", .types = kBool},
    {.name = "grammar", .types = kString, .note = "GBNF that the content must follow."},
    {.name = "stream", .types = kBool},
    {.name = "return_progress", .types = kBool, .note = "Events while the prompt is read."},
    {.name = "user", .types = kString, .handling = Handling::kWithoutEffect, .note = kNoEffect},
    {.name = "store", .types = kBool, .handling = Handling::kWithoutEffect, .note = kNoEffect},
    {.name = "metadata", .types = kObject, .handling = Handling::kWithoutEffect, .note = kNoEffect},
    {.name = "service_tier",
     .types = kString,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "parallel_tool_calls",
     .types = kBool,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "prompt_cache_key",
     .types = kString,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "safety_identifier",
     .types = kString,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "cache_control",
     .types = kObject,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "chat_template_kwargs", .types = kObject, .members = &kTemplateOptions},
});

/// Reads what kCommonFields has, of a request that check_fields passed.
MaybeProblem read_common(const json::Value& body, const RequestRules& rules,
                         GenerationRequest* out);
/// max_tokens under one of its names; the later ones win.
void read_max_tokens(const json::Value& body, std::initializer_list<const char*> names,
                     GenerationRequest* out);
/// A string or an array of strings; empty ones are refused.
MaybeProblem read_stop(const json::Value& body, const char* name, GenerationRequest* out);
/// stream_options {include_usage, continuous_usage_stats}.
extern const FieldTable kStreamOptions;
MaybeProblem read_stream_options(const json::Value& body, GenerationRequest* out);

/// Whether to think, and how hard: chat_template_kwargs, then `effort` (of the API's own field
/// `effort_name`; null: not given), then the default: on, "max". Fills chat.options.
MaybeProblem read_thinking(const json::Value& body, const json::Value* effort,
                           const std::string& effort_name, bool thinking_by_default,
                           GenerationRequest* out);

/// {"type": "text" | "json_object" | "json_schema", ...}: fills shape and chat.options. `nested`:
/// the schema is in json_schema.schema, else in schema.
extern const FieldTable kResponseFormat;
extern const FieldTable kTextFormat;
MaybeProblem read_format(const json::Value& body, const std::string& path,
                         const json::Value& format, bool nested, GenerationRequest* out);

/// Function tools in the chat form, which passed check_fields; `where` is their path.
extern const FieldTable kChatTool;
MaybeProblem check_chat_tools(const json::Value& tools, const std::string& where);
/// Sets chat.options and refuses tools that must be called but are not there.
MaybeProblem set_tool_choice(ToolUse use, const std::string& path, GenerationRequest* out);

/// The chat option `key`.
void set_option(GenerationRequest* out, const std::string& key, json::Value value);

}  // namespace trine::server
