// Reading tiktoken.model and the index from bytes to ranks.
#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/try.h"

namespace trine {
namespace {

constexpr uint64_t kMix = 0x9E3779B97F4A7C15u;

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t h = bytes.size() * kMix;
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    h = (h ^ word) * kMix;
    h ^= h >> 32;
  }
  return h * kMix;
}

constexpr std::array<int8_t, 256> make_base64_values() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  return values;
}

// Strict: whole groups of four, padding only at the end, no stray bits.
bool append_base64(std::string_view text, std::string* out) {
  static constexpr std::array<int8_t, 256> kValues = make_base64_values();
  if (text.empty() || text.size() % 4 != 0) return false;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  uint32_t bits = 0;
  uint32_t held = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const int8_t value = kValues[static_cast<uint8_t>(c)];
    if (value < 0) return false;
    held = (held << 6) | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      *out += static_cast<char>(held >> bits);
      held &= (1u << bits) - 1;
    }
  }
  return held == 0;
}

std::string shown(std::string_view text) {
  constexpr size_t kShownMax = 40;
  std::string out;
  for (const char c : text.substr(0, kShownMax)) out += c >= 0x20 && c < 0x7F ? c : '?';
  return "'" + out + (text.size() > kShownMax ? "...'" : "'");
}

}  // namespace

// Collects the lines; they may come in any order of ranks.
class VocabularyReader {
 public:
  explicit VocabularyReader(const std::string& where) : where_(where) {}

  Result<Vocabulary> read(std::string_view file) {
    int64_t line = 0;
    while (!file.empty()) {
      const size_t end = std::min(file.find('\n'), file.size());
      std::string_view text = file.substr(0, end);
      file.remove_prefix(std::min(end + 1, file.size()));
      ++line;
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (!text.empty()) TRINE_RETURN_IF_ERROR(add(text, line));
    }
    TRINE_RETURN_IF_ERROR(place());
    return build();
  }

 private:
  struct Entry {
    uint32_t offset = 0;
    uint32_t bytes = 0;
    int64_t rank = 0;
    int64_t line = 0;
  };

  Status error(int64_t line, const std::string& what) const {
    return Status(Code::kCorrupt, where_ + " line " + std::to_string(line) + ": " + what +
                                      "; expected lines of base64, a blank and a rank, "
                                      "fetch the file again");
  }

  Status add(std::string_view text, int64_t line) {
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos)
      return error(line, "found " + shown(text) + " without a rank");
    const size_t offset = bytes_.size();
    if (!append_base64(text.substr(0, blank), &bytes_))
      return error(line,
                   "found " + shown(text.substr(0, blank)) + ", which is not base64 of a token");
    const std::string_view number = text.substr(blank + 1);
    int64_t rank = -1;
    const auto [stop, code] = std::from_chars(number.data(), number.data() + number.size(), rank);
    if (code != std::errc() || stop != number.data() + number.size() || rank < 0)
      return error(line, "found rank " + shown(number) + ", which is not a number from 0");
    const size_t bytes = bytes_.size() - offset;
    if (bytes > kTokenBytesMax)
      return error(line, "a token of " + std::to_string(bytes) + " bytes, at most " +
                             std::to_string(kTokenBytesMax) + " are accepted");
    entries_.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), rank, line});
    return Status();
  }

  // Sorts by rank: 0..n-1, each once.
  Status place() {
    const auto n = static_cast<int64_t>(entries_.size());
    std::vector<const Entry*> by_rank(entries_.size(), nullptr);
    for (const Entry& e : entries_) {
      if (e.rank >= n)
        return error(e.line, "rank " + std::to_string(e.rank) + ", but the file has only " +
                                 std::to_string(n) + " tokens: some ranks are missing");
      const Entry*& place = by_rank[static_cast<size_t>(e.rank)];
      if (place != nullptr)
        return error(e.line, "rank " + std::to_string(e.rank) + " was given to line " +
                                 std::to_string(place->line) + " already");
      place = &e;
    }
    vocabulary_.bytes_.reserve(bytes_.size());
    vocabulary_.offsets_.push_back(0);
    for (const Entry* e : by_rank) {
      vocabulary_.bytes_.append(bytes_, e->offset, e->bytes);
      vocabulary_.offsets_.push_back(static_cast<uint32_t>(vocabulary_.bytes_.size()));
      lines_.push_back(e->line);
    }
    return Status();
  }

  Result<Vocabulary> build() {
    Vocabulary& v = vocabulary_;
    v.make_index();
    for (int32_t rank = 0; rank < v.size(); ++rank) {
      Vocabulary::Slot* slot = v.slot_for(v.bytes(rank));
      if (slot->rank >= 0)
        return error(lines_[static_cast<size_t>(rank)], "rank " + std::to_string(rank) +
                                                            " has the same bytes as rank " +
                                                            std::to_string(slot->rank));
      slot->rank = rank;
      if (v.bytes(rank).size() == 2) v.pairs_[Vocabulary::pair_index(v.bytes(rank))] = rank;
      v.longest_ = std::max(v.longest_, v.bytes(rank).size());
    }
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (v.find(std::string_view(&c, 1)) < 0)
        return Status(Code::kCorrupt, where_ + ": no token for the single byte " +
                                          std::to_string(byte) + " among " +
                                          std::to_string(v.size()) +
                                          "; all 256 are needed, fetch the file again");
    }
    return std::move(vocabulary_);
  }

  const std::string& where_;
  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<int64_t> lines_;
  Vocabulary vocabulary_;
};

Result<Vocabulary> Vocabulary::parse(std::string_view file, const std::string& where) {
  if (static_cast<int64_t>(file.size()) > kVocabularyFileBytesMax)
    return Status(Code::kCorrupt, where + ": " + std::to_string(file.size()) + " bytes, at most " +
                                      std::to_string(kVocabularyFileBytesMax) + " are accepted");
  return VocabularyReader(where).read(file);
}

void Vocabulary::make_index() {
  slots_.assign(std::bit_ceil(offsets_.size() * 2), Slot());
  pairs_.assign(size_t{1} << 16, -1);
}

// The slot that holds these bytes, or the empty one where they would go (its tag is then set).
Vocabulary::Slot* Vocabulary::slot_for(std::string_view bytes) {
  const uint64_t hash = hash_bytes(bytes);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].rank >= 0 && !(slots_[at].tag == tag && this->bytes(slots_[at].rank) == bytes))
    at = (at + 1) & (slots_.size() - 1);
  if (slots_[at].rank < 0) slots_[at].tag = tag;
  return &slots_[at];
}

int32_t Vocabulary::find(std::string_view bytes) const {
  if (bytes.size() > longest_) return -1;
  if (bytes.size() == 2) return pairs_[pair_index(bytes)];
  const uint64_t hash = hash_bytes(bytes);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].rank >= 0) {
    if (slots_[at].tag == tag && this->bytes(slots_[at].rank) == bytes) return slots_[at].rank;
    at = (at + 1) & (slots_.size() - 1);
  }
  return -1;
}

}  // namespace trine
