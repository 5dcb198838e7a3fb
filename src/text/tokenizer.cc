// Tokenizer: files in, ids and bytes out (spec section 9).
#include "trine/tokenizer.h"

#include "base/try.h"
#include "platform/file.h"
#include "text/bpe.h"
#include "text/control_tokens.h"
#include "text/splitter.h"
#include "text/unicode_classes.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

namespace trine {
namespace {

constexpr const char* kVocabularyFile = "tiktoken.model";
constexpr const char* kConfigFile = "tokenizer_config.json";
constexpr int64_t kConfigFileBytesMax = int64_t{16} << 20;

}  // namespace

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  ControlTokens control;
  UnicodeClasses classes;

  void encode_plain(const Chunk& chunk, size_t begin, size_t end, BpeMerger* merger,
                    std::vector<int32_t>* ids) const {
    while (begin < end) {
      const size_t stop = piece_end(chunk, begin, end);
      merger->append_ids(chunk.slice(begin, stop), ids);
      begin = stop;
    }
  }

  // The same, with spelled control tokens taken out first; each ends the text before it.
  void encode_with_control(const Chunk& chunk, size_t begin, size_t end, BpeMerger* merger,
                           std::vector<int32_t>* ids) const {
    size_t plain = begin;
    for (size_t at = begin; at < end;) {
      const ControlTokens::Match match = control.match_prefix(chunk.slice(at, end));
      if (match.id < 0) {
        ++at;
        continue;
      }
      encode_plain(chunk, plain, at, merger, ids);
      ids->push_back(match.id);
      const size_t stop = chunk.offsets[at] + match.bytes;
      while (chunk.offsets[at] < stop) ++at;
      plain = at;
    }
    encode_plain(chunk, plain, end, merger, ids);
  }
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Result<Tokenizer> Tokenizer::load(const std::string& folder) {
  const std::string prefix = folder.empty() || folder.ends_with('/') ? folder : folder + "/";
  TRINE_ASSIGN_OR_RETURN(const std::string ranks,
                         read_file(prefix + kVocabularyFile, kVocabularyFileBytesMax));
  TRINE_ASSIGN_OR_RETURN(const std::string config,
                         read_file(prefix + kConfigFile, kConfigFileBytesMax));
  return parse(ranks, config, prefix);
}

Result<Tokenizer> Tokenizer::parse(std::string_view tiktoken_model,
                                   std::string_view tokenizer_config, const std::string& where) {
  TRINE_ASSIGN_OR_RETURN(Vocabulary vocabulary,
                         Vocabulary::parse(tiktoken_model, where + kVocabularyFile));
  TRINE_ASSIGN_OR_RETURN(
      ControlTokens control,
      ControlTokens::parse(tokenizer_config, vocabulary.size(), where + kConfigFile));
  TRINE_ASSIGN_OR_RETURN(UnicodeClasses classes, UnicodeClasses::build());
  return Tokenizer(
      std::make_unique<Impl>(Impl{std::move(vocabulary), std::move(control), std::move(classes)}));
}

int64_t Tokenizer::vocab_size() const { return impl_->vocabulary.size() + kControlSlots; }

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool special) const {
  std::vector<int32_t> ids;
  BpeMerger merger(impl_->vocabulary);
  Chunk chunk;
  while (!text.empty()) {
    decode_chunk(impl_->classes, text, &chunk);
    for (size_t begin = 0; begin < chunk.size();) {
      const size_t end = stretch_end(chunk, begin);
      if (special)
        impl_->encode_with_control(chunk, begin, end, &merger, &ids);
      else
        impl_->encode_plain(chunk, begin, end, &merger, &ids);
      begin = end;
    }
    text.remove_prefix(chunk.text.size());
  }
  return ids;
}

Result<std::string> Tokenizer::decode_bytes(std::span<const int32_t> ids) const {
  std::string out;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size())
      return Status(Code::kInvalidArgument, "id " + std::to_string(ids[i]) + " at position " +
                                                std::to_string(i) + ": this tokenizer has ids 0.." +
                                                std::to_string(vocab_size() - 1));
    out += token_bytes(ids[i]);
  }
  return out;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids) const {
  TRINE_ASSIGN_OR_RETURN(const std::string bytes, decode_bytes(ids));
  return replace_invalid_utf8(bytes);
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  if (is_control(id)) return impl_->control.spelling(id);
  return id < 0 || id >= impl_->vocabulary.size() ? std::string_view()
                                                  : impl_->vocabulary.bytes(id);
}

bool Tokenizer::is_control(int32_t id) const { return impl_->control.contains(id); }

int32_t Tokenizer::control_id(std::string_view spelling) const {
  return impl_->control.find(spelling);
}

}  // namespace trine
