// A sink that remembers, and what its request gives when the toy model runs it alone.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "serving/logprobs.h"
#include "serving/sampling.h"
#include "toy_executor.h"

namespace trine::serving {

/// Remembers what it was told.
struct Recorder : Sink {
  std::vector<int32_t> tokens;
  std::vector<TokenLogprobs> logprobs;
  std::vector<std::pair<int64_t, TokenLogprobs>> prompt;
  std::vector<int64_t> admissions;
  int64_t prefilled_to = 0;
  int finishes = 0;
  Outcome outcome;
  int64_t stop_after = -1;  ///< says kStop with that many tokens
  std::function<bool(std::span<uint64_t>, const std::vector<int32_t>&)> masker;

  void admitted(int64_t cached) override { admissions.push_back(cached); }
  void prefilled(int64_t done, int64_t) override { prefilled_to = done; }
  void prompt_token(int64_t index, const Token& token) override {
    prompt.emplace_back(index, *token.logprobs);
  }
  bool mask(std::span<uint64_t> allowed) override { return masker && masker(allowed, tokens); }
  Verdict token(const Token& token) override {
    tokens.push_back(token.id);
    if (token.logprobs != nullptr) logprobs.push_back(*token.logprobs);
    return static_cast<int64_t>(tokens.size()) == stop_after ? Verdict::kStop : Verdict::kGoOn;
  }
  void finished(const Outcome& result) override {
    ++finishes;
    outcome = result;
  }
};

/// What a run alone gives: up to max_tokens tokens, then nothing else.
struct SingleRun {
  std::vector<int32_t> tokens;
  std::vector<TokenLogprobs> logprobs;
  std::vector<TokenLogprobs> prompt;  ///< of prompt[1..]
};
inline SingleRun run_alone(const Request& request, std::span<const int32_t> end_tokens,
                           const Recorder& like) {
  SingleRun result;
  TokenChooser chooser(request.sampling, request.prompt);
  std::vector<float> logits(ToyExecutor::kVocab);
  uint64_t hash = 0;
  const int top = std::max(0, request.top_logprobs);
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    hash = ToyExecutor::next_hash(hash, request.prompt[i]);
    if (i + 1 == request.prompt.size()) break;
    ToyExecutor::logits_of(hash, logits.data());
    result.prompt.push_back(logprobs_of(logits, request.prompt[i + 1], top));
  }
  while (static_cast<int64_t>(result.tokens.size()) < request.max_tokens) {
    ToyExecutor::logits_of(hash, logits.data());
    std::vector<int32_t> forbidden;
    if (static_cast<int64_t>(result.tokens.size()) < request.min_tokens) {
      forbidden.assign(end_tokens.begin(), end_tokens.end());
      forbidden.insert(forbidden.end(), request.stop_token_ids.begin(),
                       request.stop_token_ids.end());
    }
    std::vector<uint64_t> mask(1, ~uint64_t{0});
    const bool masked = like.masker && like.masker(mask, result.tokens);
    const int32_t id = chooser.choose(
        logits, masked ? std::span<const uint64_t>(mask) : std::span<const uint64_t>(), forbidden);
    if (id < 0) break;
    if (request.top_logprobs >= 0) result.logprobs.push_back(logprobs_of(logits, id, top));
    result.tokens.push_back(id);
    chooser.accept(id);
    hash = ToyExecutor::next_hash(hash, id);
    const auto in = [&](std::span<const int32_t> ids) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    if ((in(end_tokens) && !request.ignore_eos) || in(request.stop_token_ids)) break;
    if (static_cast<int64_t>(result.tokens.size()) == like.stop_after) break;
  }
  return result;
}

}  // namespace trine::serving
