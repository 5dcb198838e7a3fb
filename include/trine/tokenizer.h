// tiktoken byte-pair tokenizer of the K3 generation (spec section 9). Immutable, usable from
// several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trine/status.h"

namespace trine {

class Tokenizer {
 public:
  /// Reads tiktoken.model and tokenizer_config.json of a folder (weights are not needed).
  static Result<Tokenizer> load(const std::string& folder);
  /// The same from the content of the two files; `where` leads the names of files in messages.
  static Result<Tokenizer> parse(std::string_view tiktoken_model, std::string_view tokenizer_config,
                                 const std::string& where = "");
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  int64_t vocab_size() const;
  /// Ids of text; linear time. Bytes that are not UTF-8 are treated as U+FFFD would be split, and
  /// keep their bytes. With `special`, spelled control tokens become control ids; without, never.
  std::vector<int32_t> encode(std::string_view text, bool special = false) const;
  /// Concatenated bytes of the ids; unknown ids are kInvalidArgument.
  Result<std::string> decode_bytes(std::span<const int32_t> ids) const;
  /// The same as text: invalid UTF-8 becomes U+FFFD.
  Result<std::string> decode(std::span<const int32_t> ids) const;
  /// Bytes of one token; empty view when there is no such id.
  std::string_view token_bytes(int32_t id) const;
  /// True for the 256 control slots above the ranks.
  bool is_control(int32_t id) const;
  /// Id of a control token by its spelling, -1 if there is none.
  int32_t control_id(std::string_view spelling) const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
};

}  // namespace trine
