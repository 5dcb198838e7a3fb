// Passes over memory that others manage: any mixture of spans, shared blocks and copied states give
// the bits of a sequence alone; free memory full of NaN is never read.
#include "engine/paged_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace trine {
namespace {

constexpr int64_t kContext = 512;

PagedModel load(const std::string& isa, int64_t chunk = 64) {
  Result<PagedModel> model = PagedModel::load(
      TRINE_SOURCE_DIR "/models/k3-nano", {.threads = 2, .prefill_chunk = chunk, .isa = isa},
      [&](const PagedModel::Terms&) -> Result<PagedModel::Sizes> {
        return PagedModel::Sizes{
            .context = kContext, .prefill_chunk = chunk, .pass_rows = chunk, .memory = {}};
      });
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(*model);
}

/// A sequence in memory of its own that was full of NaN before.
struct Owned {
  std::vector<std::byte> state, blocks;
  model::SequenceState sequence;

  explicit Owned(const PagedModel& model)
      : state(static_cast<size_t>(model.state_bytes()) + 64, std::byte{0xFF}),
        blocks(
            static_cast<size_t>(kContext / PagedModel::block_tokens() * model.block_bytes()) + 64,
            std::byte{0xFF}),
        sequence(model.sequence(aligned(state))) {
    std::memset(aligned(state), 0, static_cast<size_t>(model.state_bytes()));
    for (int64_t i = 0; i < kContext / PagedModel::block_tokens(); ++i)
      sequence.set_block(i, aligned(blocks) + i * model.block_bytes());
  }
  static std::byte* aligned(std::vector<std::byte>& bytes) {
    return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
  }
};

std::vector<int32_t> random_ids(std::mt19937& random, int64_t count, int64_t vocab) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint64_t>(vocab));
  return ids;
}

/// Logits after every id, one id per pass.
std::vector<float> alone(const PagedModel& model, std::span<const int32_t> ids) {
  Owned owned(model);
  const auto vocab = static_cast<size_t>(model.model.vocab_size());
  std::vector<float> logits(ids.size() * vocab);
  for (size_t i = 0; i < ids.size(); ++i) {
    PagedWork work{&owned.sequence, ids.subspan(i, 1), logits.data() + i * vocab, false, {}};
    model.run({&work, 1});
    EXPECT_TRUE(work.status.ok()) << work.status.message();
  }
  return logits;
}

bool same_bits(std::span<const float> a, const float* b) {
  return std::memcmp(a.data(), b, a.size_bytes()) == 0;
}

class PagedModelTest : public testing::TestWithParam<const char*> {};

TEST_P(PagedModelTest, AnyMixtureOfSpansGivesTheBitsOfASequenceAlone) {
  const PagedModel model = load(GetParam());
  const auto vocab = static_cast<size_t>(model.model.vocab_size());
  constexpr uint32_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr size_t kSequences = 5;
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<float>> expected;
  std::vector<Owned> owned;
  for (size_t s = 0; s < kSequences; ++s) {
    ids.push_back(random_ids(random, 40 + 31 * static_cast<int64_t>(s), model.model.vocab_size()));
    expected.push_back(alone(model, ids.back()));
    owned.emplace_back(model);
  }
  std::vector<std::vector<float>> logits(kSequences, std::vector<float>(64 * vocab));
  for (;;) {
    std::vector<PagedWork> works;
    std::vector<std::pair<size_t, size_t>> places;
    int64_t rows_left = model.pass_rows();
    for (size_t s = 0; s < kSequences && rows_left > 0; ++s) {
      const auto done = static_cast<size_t>(owned[s].sequence.position());
      if (done == ids[s].size() || random() % 4 == 0) continue;
      const size_t rows = std::min(
          {ids[s].size() - done, size_t{1} + random() % 23, static_cast<size_t>(rows_left)});
      rows_left -= static_cast<int64_t>(rows);
      works.push_back({&owned[s].sequence, std::span(ids[s]).subspan(done, rows), logits[s].data(),
                       random() % 2 == 0, Status()});
      places.emplace_back(s, done);
    }
    bool all_done = works.empty();
    for (size_t s = 0; s < kSequences; ++s)
      all_done &= owned[s].sequence.position() == static_cast<int64_t>(ids[s].size());
    if (all_done) break;
    if (works.empty()) continue;
    model.run(works);
    for (size_t w = 0; w < works.size(); ++w) {
      ASSERT_TRUE(works[w].status.ok()) << works[w].status.message();
      const auto [s, done] = places[w];
      const size_t rows = works[w].ids.size();
      const size_t first = works[w].all_logits ? done : done + rows - 1;
      const size_t count = done + rows - first;
      EXPECT_TRUE(
          same_bits(std::span(expected[s]).subspan(first * vocab, count * vocab), works[w].logits))
          << "sequence " << s << " rows " << done << " to " << done + rows;
    }
  }
}

TEST_P(PagedModelTest, ACopyOfTheStateAtAnyTokenContinuesWithTheSameBits) {
  const PagedModel model = load(GetParam());
  const auto vocab = static_cast<size_t>(model.model.vocab_size());
  std::mt19937 random(11);
  const std::vector<int32_t> ids = random_ids(random, 150, model.model.vocab_size());
  const std::vector<float> expected = alone(model, ids);
  for (const size_t at : {1u, 15u, 16u, 17u, 63u, 64u, 65u, 66u, 100u, 128u, 149u}) {
    SCOPED_TRACE(at);
    Owned donor(model), heir(model);
    std::vector<float> logits(vocab);
    for (size_t done = 0; done < at;) {
      const size_t rows = std::min<size_t>(at - done, 64);
      PagedWork work{&donor.sequence, std::span(ids).subspan(done, rows), nullptr, false, {}};
      model.run({&work, 1});
      done += rows;
    }
    // Full blocks are shared, the partial one is copied; the donor then goes another way.
    model.copy(Owned::aligned(heir.state), Owned::aligned(donor.state), model.state_bytes());
    const auto full = static_cast<int64_t>(at) / PagedModel::block_tokens();
    for (int64_t i = 0; i < full; ++i)
      heir.sequence.set_block(i, Owned::aligned(donor.blocks) + i * model.block_bytes());
    if (full * PagedModel::block_tokens() != static_cast<int64_t>(at)) {
      model.copy(Owned::aligned(heir.blocks) + full * model.block_bytes(),
                 Owned::aligned(donor.blocks) + full * model.block_bytes(), model.block_bytes());
    }
    heir.sequence.set_position(static_cast<int64_t>(at));
    const std::vector<int32_t> other = random_ids(random, 40, model.model.vocab_size());
    PagedWork away{&donor.sequence, other, nullptr, false, {}};
    model.run({&away, 1});
    for (size_t i = at; i < ids.size(); i += 7) {
      const size_t rows = std::min<size_t>(7, ids.size() - i);
      PagedWork work{&heir.sequence, std::span(ids).subspan(i, rows), logits.data(), false, {}};
      model.run({&work, 1});
      ASSERT_TRUE(work.status.ok()) << work.status.message();
      EXPECT_TRUE(
          same_bits(std::span(expected).subspan((i + rows - 1) * vocab, vocab), logits.data()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, PagedModelTest, testing::Values("avx2", ""),
                         [](const auto& level) {
                           return std::string(*level.param ? level.param : "best");
                         });

}  // namespace
}  // namespace trine
