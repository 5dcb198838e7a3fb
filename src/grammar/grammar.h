// Structured output as token masks: grammars over bytes, compiled once and shared by many requests.
//
// A Grammar describes whole texts. A Matcher follows one answer and says which tokens may come
// next: exactly those whose bytes some whole text of the grammar begins with, so no answer ever
// gets stuck. docs/design/grammar.md: how, what it costs, and which keywords and constructs are
// understood.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "trine/status.h"

namespace trine::grammar {

/// Types of JSON values as bits.
enum TypeBit : uint8_t {
  kNullBit = 1,
  kBooleanBit = 2,
  kObjectBit = 4,
  kArrayBit = 8,
  kStringBit = 16,
  kIntegerBit = 32,
  kFractionBit = 64,  ///< numbers written with a fraction or an exponent
  kNumberBits = kIntegerBit | kFractionBit,
  kAnyBits = 127,
};

enum class WhiteSpace {
  kCompact,   ///< none at all
  kFlexible,  ///< one space, or a line break and an indentation of at most 32, where JSON allows
              ///< any
};

struct JsonOptions {
  WhiteSpace white_space = WhiteSpace::kFlexible;
  /// Which types the whole value may have, beside what the schema says.
  uint8_t root_types = kAnyBits;
  /// A whole value that is a string is written bare: no quotes, no escapes (XTML arguments).
  bool bare_root_string = false;
};

struct SchemaOptions : JsonOptions {
  /// JSON pointer of the schema to follow inside the document (`#/...` references see all of it).
  std::string root_pointer;
  /// A schema that names no type but has keywords of one (properties, pattern, ...) means that
  /// type.
  bool infer_types = true;
  /// A schema with properties and without additionalProperties allows no others.
  bool closed_objects = false;
};

class MaskCache;
struct Program;

/// The tokens of a vocabulary, sorted into a trie of bytes. Immutable; build once per vocabulary.
class TokenTable {
 public:
  TokenTable() = default;  ///< no tokens at all
  /// tokens[id] = the bytes of token id. Excluded ids (control tokens) and empty tokens are never
  /// allowed by a mask.
  static std::shared_ptr<const TokenTable> build(std::span<const std::string_view> tokens,
                                                 std::span<const int32_t> excluded);

  int64_t size() const { return size_; }  ///< ids
  int64_t mask_words() const { return (size_ + 63) / 64; }
  /// The bytes of a token; empty when it is excluded.
  std::string_view bytes(int32_t id) const;
  int64_t longest() const { return longest_; }
  int64_t memory_bytes() const;

 private:
  friend class MaskCache;
  struct Node {
    uint32_t end = 0;    ///< first node after this one's subtree
    uint32_t first = 0;  ///< first of its ids in ids_
    uint16_t depth = 0;  ///< bytes from the root
    uint8_t byte = 0;
    bool leads : 1 = false;  ///< it has children
    bool plain : 1 = true;   ///< below it are only bytes that mean nothing inside strings
  };
  int64_t size_ = 0;
  int64_t longest_ = 0;
  std::string text_;               // all tokens, by id
  std::vector<uint32_t> offsets_;  // into text_, size_ + 1
  std::vector<Node> nodes_;        // in preorder; a last one ends the list of ids
  std::vector<int32_t> ids_;       // grouped by node
};

/// What an answer may be. Immutable and thread-safe; what matchers learn is kept in bounded caches.
class Grammar {
 public:
  /// JSON Schema (draft 2020-12, the subset of docs/design/grammar.md). Errors are kInvalidArgument
  /// and name the place (JSON pointer) and the keyword.
  static Result<std::shared_ptr<const Grammar>> from_schema(const json::Value& schema,
                                                            const SchemaOptions& options = {});
  /// Any JSON value of options.root_types (JSON mode: kObjectBit).
  static Result<std::shared_ptr<const Grammar>> from_json_mode(const JsonOptions& options = {});
  /// GBNF as llama.cpp reads it; the rule `root` is the answer.
  static Result<std::shared_ptr<const Grammar>> from_gbnf(std::string_view text);
  /// An ECMAScript pattern that the whole answer must match.
  static Result<std::shared_ptr<const Grammar>> from_regex(std::string_view pattern);

  explicit Grammar(Program program);  ///< of a compiled program (grammar/program.h)
  ~Grammar();
  int64_t state_count() const;
  /// Walks now, on this thread, what would make the first masks of an answer slow (strings); a few
  /// milliseconds for a large vocabulary. Masks are the same without it.
  void prepare(const std::shared_ptr<const TokenTable>& table) const;

 private:
  friend class Matcher;
  std::shared_ptr<MaskCache> cache_for(const std::shared_ptr<const TokenTable>& table) const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Where one answer stands. Copies are cheap (two pointers and a number), so going back means
/// keeping a copy. Calls of different matchers may run at the same time; those of one may not.
class Matcher {
 public:
  Matcher(std::shared_ptr<const Grammar> grammar, const std::shared_ptr<const TokenTable>& table);

  /// Sets the bits of the allowed tokens, clears all others (mask_words() words or more).
  /// kUnsupported when the grammar is too ambiguous here to be followed within its limits.
  Status fill_mask(std::span<uint64_t> bits);
  /// Follows a token; kInvalidArgument, and no change, when it is not allowed.
  Status accept(int32_t token);
  /// The same for any bytes.
  Status accept_bytes(std::string_view bytes);
  /// The text so far is a whole text of the grammar.
  bool can_end() const;
  /// What must come next: the bytes (at most `bytes_max`) that every continuation begins with.
  std::string forced_bytes(int64_t bytes_max = 256);

 private:
  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<MaskCache> cache_;
  std::shared_ptr<void> epoch_;  // the tables that state_ is a number in
  int32_t state_ = 0;
  bool can_end_ = false;
};

}  // namespace trine::grammar
