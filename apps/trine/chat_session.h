// The state of a conversation in a sequence: a new turn appends only what is new. Recurrent states
// cannot be rewound, so a changed past (system message, tools, thinking) starts over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conversation.h"
#include "trine/chat.h"
#include "trine/generate.h"

namespace trine::cli {

class ChatSession {
 public:
  ChatSession(const Tokenizer* tokenizer, Sequence sequence)
      : tokenizer_(tokenizer), sequence_(std::move(sequence)) {}

  /// Ids to append so that the sequence holds the conversation and the generation prompt. Starts
  /// the sequence over when the conversation is no continuation of what it holds.
  Result<std::vector<int32_t>> next_prompt(const Conversation& conversation);
  /// After an answer was generated and added to the conversation.
  void answered(const Conversation& conversation, const Generation& generation);
  /// The sequence does not hold the conversation any more (an error, a cancelled prompt, another
  /// conversation): it starts over.
  void invalidate() {
    held_.clear();
    sequence_.reset();
    reused_ = 0;
  }

  Sequence* sequence() { return &sequence_; }
  int64_t position() const { return sequence_.position(); }
  /// Tokens that the last next_prompt() did not need to compute again.
  int64_t reused_tokens() const { return reused_; }

 private:
  const Tokenizer* tokenizer_;
  Sequence sequence_;
  std::vector<int32_t> held_;     ///< rendering of the conversation that the sequence stands for
  std::vector<int32_t> pending_;  ///< ids that complete it in the sequence
  int64_t reused_ = 0;
};

/// Ids that close an answer which ended early (limit, Ctrl-C), so that a next message can follow.
/// Empty when it ended inside markup, where no closing is certain.
std::vector<int32_t> closing_ids(const Tokenizer& tokenizer, const std::vector<int32_t>& generated,
                                 bool thinking);

}  // namespace trine::cli
