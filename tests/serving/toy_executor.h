// A model of a few bytes whose logits reveal any wrong state or page: the state is a hash of all
// tokens, each latent row remembers its token and position, and a pass checks one against the
// other.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "serving/executor.h"

namespace trine::serving {

class ToyExecutor : public Executor {
 public:
  static constexpr int64_t kVocab = 40;
  static constexpr int64_t kBlockTokens = 4;
  static constexpr int32_t kBadToken = kVocab - 1;  ///< its row is not finite

  struct State {
    uint64_t hash;
    int64_t count;
  };
  struct Row {
    int64_t position;
    int64_t token;
  };

  static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t z = a * 0x9E3779B97F4A7C15u + b + 0x7F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Logits after tokens whose hash is `hash`: what any correct engine must show.
  static void logits_of(uint64_t hash, float* out) {
    for (int64_t v = 0; v < kVocab; ++v) {
      const uint64_t bits = mix(hash, static_cast<uint64_t>(v) + 1000) >> 40;
      out[v] = static_cast<float>(bits) * 0x1p-22f - 2.0f;
    }
    out[kBadToken] = -20.0f;
  }
  static uint64_t next_hash(uint64_t hash, int32_t token) {
    return mix(hash, static_cast<uint64_t>(token));
  }

  explicit ToyExecutor(int64_t pass_rows = 24) : pass_rows_(pass_rows) {}

  int64_t vocab_size() const override { return kVocab; }
  int64_t block_tokens() const override { return kBlockTokens; }
  int64_t block_bytes() const override { return kBlockTokens * static_cast<int64_t>(sizeof(Row)); }
  int64_t state_bytes() const override { return sizeof(State); }
  int64_t pass_rows() const override { return pass_rows_; }

  std::unique_ptr<ExecutorSequence> open(std::byte* slot, bool fresh) override {
    if (fresh) {
      const State zero{};
      std::memcpy(slot, &zero, sizeof zero);
    }
    return std::make_unique<Sequence>(slot);
  }
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void run(std::span<Work> works) override {
    ++passes;
    int64_t rows = 0;
    for (Work& work : works) {
      rows += static_cast<int64_t>(work.ids.size());
      run_one(work, static_cast<Sequence&>(*work.sequence));
    }
    last_rows = rows;
    if (on_run) on_run(rows);
    if (rows > pass_rows_) fault = "a pass of " + std::to_string(rows) + " rows";
    rows_run += rows;
  }

  std::string fault;  ///< the first wrong state or page that a pass met
  int64_t passes = 0;
  int64_t rows_run = 0;
  int64_t last_rows = 0;                     ///< of the last pass
  std::function<void(int64_t rows)> on_run;  ///< tests move their clock here

 private:
  struct Sequence : ExecutorSequence {
    explicit Sequence(std::byte* memory) : slot(memory) {}
    void set_block(int64_t index, std::byte* data) override {
      if (static_cast<int64_t>(blocks.size()) <= index)
        blocks.resize(static_cast<size_t>(index) + 1);
      blocks[static_cast<size_t>(index)] = data;
    }
    void set_position(int64_t position) override { at = position; }
    int64_t position() const override { return at; }
    std::byte* row(int64_t position) const {
      return blocks.at(static_cast<size_t>(position / kBlockTokens)) +
             position % kBlockTokens * static_cast<int64_t>(sizeof(Row));
    }
    std::byte* slot;
    std::vector<std::byte*> blocks;
    int64_t at = 0;
  };

  void run_one(Work& work, Sequence& sequence) {
    State state;
    std::memcpy(&state, sequence.slot, sizeof state);
    if (state.count != sequence.at) note("a state of another position");
    uint64_t seen = 0;
    for (int64_t i = 0; i < sequence.at; ++i) {
      Row row;
      std::memcpy(&row, sequence.row(i), sizeof row);
      if (row.position != i) note("a latent row of another position");
      seen = next_hash(seen, static_cast<int32_t>(row.token));
    }
    if (seen != state.hash) note("state and latent rows disagree");
    work.status = Status();
    for (size_t i = 0; i < work.ids.size(); ++i) {
      const int32_t token = work.ids[i];
      const Row row{sequence.at, token};
      std::memcpy(sequence.row(sequence.at), &row, sizeof row);
      state.hash = next_hash(state.hash, token);
      seen = next_hash(seen, token);
      ++state.count;
      ++sequence.at;
      if (token == kBadToken) work.status = Status(Code::kNotFinite, "toy: NaN");
      if (work.logits == nullptr) continue;
      const uint64_t both = state.hash + 31 * (seen - state.hash);
      if (work.all_logits) {
        logits_of(both, work.logits + i * kVocab);
      } else if (i + 1 == work.ids.size()) {
        logits_of(both, work.logits);
      }
    }
    std::memcpy(sequence.slot, &state, sizeof state);
  }

  void note(const char* what) {
    if (fault.empty()) fault = what;
  }

  int64_t pass_rows_;
};

}  // namespace trine::serving
