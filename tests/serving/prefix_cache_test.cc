// Lookup, eviction by worth, and the accounts of slots and blocks.
#include "serving/prefix_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "serving/evicted_trace.h"
#include "serving/prefix_cache_fixture.h"

namespace trine::serving {
namespace {

TEST(PrefixCache, FindsTheLongestPrefixWithinTheLimit) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 8});
  EXPECT_EQ(cache.found(text("abcdef")), 0);
  for (const char* tokens : {"ab", "abcd", "abcdef", "abx"}) cache.insert(text(tokens));
  EXPECT_EQ(cache.found(text("abcdefgh")), 6);
  EXPECT_EQ(cache.found(text("abcdex")), 4);
  EXPECT_EQ(cache.found(text("abxcdef")), 3);
  EXPECT_EQ(cache.found(text("abc")), 2);
  EXPECT_EQ(cache.found(text("a")), 0);
  EXPECT_EQ(cache.found(text("")), 0);
  EXPECT_EQ(cache.found(text("xabcdef")), 0);
  for (const auto& [limit, position] : std::map<int64_t, int64_t>{
           {-1, 0}, {0, 0}, {1, 0}, {2, 2}, {3, 2}, {5, 4}, {6, 6}, {100, 6}}) {
    const PrefixMatch match = cache->find(text("abcdef"), limit);
    EXPECT_EQ(match.snapshot == nullptr ? 0 : match.snapshot->position, position) << limit;
    EXPECT_EQ(match.tokens_known, std::clamp<int64_t>(limit, 0, 6)) << limit;
  }
  EXPECT_TRUE(cache->contains(text("abcd")));
  EXPECT_FALSE(cache->contains(text("abc")));
  EXPECT_FALSE(cache->contains(text("abcdefg")));
  EXPECT_FALSE(cache->contains(text("")));
  cache.check();
}

TEST(PrefixCache, GivesBackTheVerySnapshotThatWasPutIn) {
  CacheOnPool cache({.block_tokens = 4, .snapshots_max = 8});
  const Snapshot made = *cache.snapshot(text("hello world"));
  cache->insert(text("hello world"), made, SnapshotKind::kPromptEnd);
  const PrefixMatch match = cache->find(text("hello world!"), 11);
  ASSERT_NE(match.snapshot, nullptr);
  EXPECT_EQ(match.snapshot->slot, made.slot);
  EXPECT_EQ(match.snapshot->blocks, made.blocks);
}

TEST(PrefixCache, PrefixesOfEachOtherLieOnOnePathInAnyOrder) {
  std::vector<std::string> prefixes = {"a", "ab", "abc", "abcdefgh"};
  do {
    CacheOnPool cache({.block_tokens = 3, .snapshots_max = 8});
    for (const std::string& prefix : prefixes) cache.insert(text(prefix));
    EXPECT_EQ(cache->size(), 4);
    EXPECT_EQ(cache.found(text("abcdefghi")), 8);
    EXPECT_EQ(cache.found(text("abcdefg")), 3);
    EXPECT_EQ(cache.found(text("abx")), 2);
    EXPECT_EQ(cache.found(text("ax")), 1);
    cache.check();
  } while (std::next_permutation(prefixes.begin(), prefixes.end()));
}

TEST(PrefixCache, AnotherPromptBetweenTwoEqualOnesChangesNothing) {
  CacheOnPool cache({.block_tokens = 4, .snapshots_max = 8});
  const Tokens a = text("system: be kind. user: what is rain?");
  const Tokens b = text("system: be kind. user: who is there?");
  cache.insert(a, SnapshotKind::kPromptEnd);
  const SlotId slot = cache->find(a, 100).snapshot->slot;
  EXPECT_EQ(cache.found(b), 0);
  EXPECT_EQ(cache.known(b), 25) << "where B leaves A is where a fork is worth a snapshot";
  cache.insert(Tokens(b.begin(), b.begin() + 25), SnapshotKind::kFork);
  cache.insert(b, SnapshotKind::kPromptEnd);
  EXPECT_EQ(cache->find(a, 100).snapshot->slot, slot);
  EXPECT_EQ(cache.found(a), static_cast<int64_t>(a.size()));
  EXPECT_EQ(cache.found(b), static_cast<int64_t>(b.size()));
  EXPECT_EQ(cache.found(text("system: be kind. user: why?")), 25);
  cache.check();
}

TEST(PrefixCache, LengthsAroundBlockBordersAreFoundExactly) {
  constexpr int64_t kBlock = 4;
  CacheOnPool cache({.block_tokens = kBlock, .snapshots_max = 64});
  for (int64_t k = 1; k <= 3; ++k) {
    for (int64_t more = -1; more <= 2; ++more) {
      const int64_t length = k * kBlock + more;
      Tokens tokens(static_cast<size_t>(length), static_cast<int32_t>(k * 10 + more));
      cache.insert(tokens);
      const PrefixMatch exact = cache->find(tokens, length);
      ASSERT_NE(exact.snapshot, nullptr);
      EXPECT_EQ(exact.snapshot->position, length);
      EXPECT_EQ(exact.snapshot->blocks.size(), static_cast<size_t>((length + kBlock - 1) / kBlock));
      EXPECT_EQ(cache->find(tokens, length - 1).snapshot, nullptr);
      tokens.push_back(7);
      EXPECT_EQ(cache.found(tokens), length);
    }
  }
  cache.check();
}

TEST(PrefixCache, ASecondSnapshotOfAPrefixIsGivenBack) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 4});
  cache.insert(text("abc"));
  const SlotId first = cache->find(text("abc"), 3).snapshot->slot;
  const Snapshot second{.position = 3,
                        .slot = cache.pool().take_slot(),
                        .blocks = {cache.pool().take_block(), cache.pool().take_block()}};
  cache->insert(text("abc"), second, SnapshotKind::kAnswerEnd);
  EXPECT_EQ(cache->size(), 1);
  EXPECT_EQ(cache->find(text("abc"), 3).snapshot->slot, first);
  cache.check();
  cache->evict_one();
  EXPECT_EQ(cache.evicted.at(0).second, SnapshotKind::kAnswerEnd) << "the more telling kind";
}

TEST(PrefixCache, WithoutABudgetKeepsNothing) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 0});
  EXPECT_FALSE(cache->make_room());
  EXPECT_FALSE(cache->evict_one());
  cache.insert(text("abc"));
  EXPECT_EQ(cache->size(), 0);
  EXPECT_EQ(cache.found(text("abc")), 0);
  cache.check();
}

TEST(PrefixCache, NeverHoldsMoreThanItsBudget) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 2});
  cache.insert(text("one"));
  EXPECT_TRUE(cache->make_room());
  EXPECT_EQ(cache->size(), 1) << "there is room already";
  cache.insert(text("two"));
  EXPECT_TRUE(cache->make_room());
  EXPECT_EQ(cache->size(), 1);
  cache.insert(text("four"));
  cache.insert(text("five"));
  cache.insert(text("six"));
  EXPECT_EQ(cache->size(), 2);
  EXPECT_EQ(cache.found(text("six")), 3);
  cache.check();
}

TEST(PrefixCache, EvictsSpacingBeforePromptEndsOfEqualGain) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 8});
  const std::vector<std::pair<Tokens, SnapshotKind>> by_worth = {
      {text("aaaa"), SnapshotKind::kSpacing},   {text("bbbb"), SnapshotKind::kFork},
      {text("cccc"), SnapshotKind::kPromptEnd}, {text("dddd"), SnapshotKind::kAnswerEnd},
      {text("eeee"), SnapshotKind::kPreempted},
  };
  // The most telling first, so that neither age nor order explains the result.
  for (auto it = by_worth.rbegin(); it != by_worth.rend(); ++it)
    cache.insert(it->first, it->second);
  while (cache->evict_one()) cache.check();
  EXPECT_EQ(cache.evicted, by_worth);
}

TEST(PrefixCache, EvictsWhatSavesFewTokensAndCountsAgainWithoutIt) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 8});
  cache.insert(text("abcdefghij"));  // saves 2 tokens as long as "abcdefgh" is there
  cache.insert(text("abcdefgh"));    // saves 8
  cache.insert(text("xyz"));         // saves 3
  cache->evict_one();
  EXPECT_EQ(cache.evicted.back().first, text("abcdefghij"));
  cache.insert(text("abcdefg"));  // now "abcdefgh" saves 1
  cache->evict_one();
  EXPECT_EQ(cache.evicted.back().first, text("abcdefgh"));
  cache->evict_one();
  EXPECT_EQ(cache.evicted.back().first, text("xyz"));
  EXPECT_EQ(cache.found(text("abcdefgh")), 7);
  cache.check();
}

TEST(PrefixCache, WhatIsAskedForOutlivesWhatIsNot) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 2});
  cache.insert(text("keep me"));
  for (int turn = 0; turn < 50; ++turn) {
    cache.insert(text("pass " + std::string(1, static_cast<char>('A' + turn))));
    ASSERT_EQ(cache.found(text("keep me please")), 7) << "turn " << turn;
  }
}

TEST(PrefixCache, WhatIsNoLongerAskedForMakesWay) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 4});
  cache.insert(text(std::string(200, 'a')), SnapshotKind::kAnswerEnd);  // worth 4,800
  int turns = 0;
  for (; turns < 5000 && cache->contains(text(std::string(200, 'a'))); ++turns) {
    cache.insert({turns, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
  EXPECT_GT(turns, 500) << "its worth is not forgotten at once";
  EXPECT_LT(turns, 5000) << "the clock must pass what nobody uses";
  cache.check();
}

TEST(PrefixCache, OfEqualsTheLongestUnusedGoes) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 8});
  for (const char* tokens : {"aaa", "bbb", "ccc"}) cache.insert(text(tokens));
  EXPECT_EQ(cache.found(text("aaa")), 3);
  while (cache->evict_one()) {
  }
  ASSERT_EQ(cache.evicted.size(), 3u);
  EXPECT_EQ(cache.evicted[0].first, text("bbb"));
  EXPECT_EQ(cache.evicted[1].first, text("ccc"));
  EXPECT_EQ(cache.evicted[2].first, text("aaa"));
}

TEST(PrefixCache, AMissSaysThatItsSnapshotWasEvicted) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 8});
  cache.insert(text("abcdef"));
  EXPECT_FALSE(cache->find(text("abcdefgh"), 8).evicted_longer);
  cache->evict_one();
  EXPECT_EQ(cache.known(text("abcdefgh")), 0) << "a path without a snapshot is not kept";
  EXPECT_TRUE(cache->find(text("abcdefgh"), 8).evicted_longer);
  EXPECT_TRUE(cache->find(text("abcdef"), 6).evicted_longer);
  EXPECT_FALSE(cache->find(text("abcdef"), 5).evicted_longer) << "beyond the limit";
  EXPECT_FALSE(cache->find(text("abcdeX"), 6).evicted_longer) << "another path";
  cache.insert(text("abc"));
  EXPECT_TRUE(cache->find(text("abcdef"), 6).evicted_longer) << "longer than what there is";
  cache.insert(text("abcdefg"));
  EXPECT_FALSE(cache->find(text("abcdefgh"), 8).evicted_longer) << "shorter than what there is";
}

TEST(PrefixCache, TheMemoryOfEvictionsIsBounded) {
  EvictedTrace trace;
  const auto max = static_cast<int32_t>(EvictedTrace::kEntriesMax);
  for (int32_t i = 0; i < 3 * max; ++i) {
    trace.add(Tokens{1, i});
    trace.add(Tokens{1, i});  // no second entry
    ASSERT_LE(trace.size(), EvictedTrace::kEntriesMax);
  }
  EXPECT_FALSE(trace.has_longer(Tokens{1, 2 * max - 1, 5}, 0));
  EXPECT_TRUE(trace.has_longer(Tokens{1, 2 * max, 5}, 0));
  EXPECT_TRUE(trace.has_longer(Tokens{1, 3 * max - 1, 5}, 1));
  EXPECT_FALSE(trace.has_longer(Tokens{1, 3 * max - 1, 5}, 2));
}

TEST(PrefixCache, AFlushGivesEverythingBackAndForgets) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 8});
  for (const char* tokens : {"abcdef", "abcxyz", "abc", "q"}) cache.insert(text(tokens));
  cache->evict_one();
  cache.evicted.clear();
  cache->flush();
  EXPECT_EQ(cache->size(), 0);
  EXPECT_EQ(cache->blocks_held(), 0);
  EXPECT_TRUE(cache.evicted.empty());
  EXPECT_EQ(cache.known(text("abcdef")), 0);
  EXPECT_FALSE(cache->find(text("q"), 1).evicted_longer);
  cache.check();
  cache.insert(text("abcdef"));
  EXPECT_EQ(cache.found(text("abcdef")), 6);
  cache.check();
}

TEST(PrefixCache, BlocksAreCountedOnceAndFreeWithTheLastSnapshot) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 8});
  cache.insert(text("abcd"));      // 2 blocks
  cache.insert(text("abcdefg"));   // shares them, 2 more
  cache.insert(text("abcdxyzw"));  // shares them, 2 more
  EXPECT_EQ(cache->blocks_held(), 6);
  cache.check();
  const BlockId shared = cache->find(text("abcd"), 4).snapshot->blocks[0];
  EXPECT_EQ(cache.pool().references(shared), 3);
  cache.pool().share_block(shared);  // a sequence began there
  cache->flush();
  EXPECT_EQ(cache.pool().references(shared), 1);
  EXPECT_EQ(cache.pool().blocks_free(), cache.pool().options().blocks - 1);
}

TEST(PrefixCache, ModelsWithoutStatesOrLatentsAreServedAllTheSame) {
  CacheOnPool no_states({.block_tokens = 2, .snapshots_max = 4}, {.blocks = 16, .block_bytes = 8});
  no_states.insert(text("abc"));
  ASSERT_NE(no_states->find(text("abcd"), 4).snapshot, nullptr);
  EXPECT_EQ(no_states->find(text("abcd"), 4).snapshot->slot, kNone);
  no_states.check();

  CacheOnPool no_latents({.block_tokens = 2, .snapshots_max = 4}, {.slots = 4, .slot_bytes = 8});
  for (const char* tokens : {"abc", "abcdef"}) {
    const Snapshot made{.position = static_cast<int64_t>(text(tokens).size()),
                        .slot = no_latents.pool().take_slot(),
                        .blocks = {}};
    no_latents->insert(text(tokens), made, SnapshotKind::kSpacing);
  }
  EXPECT_EQ(no_latents.found(text("abcde")), 3);
  no_latents.check();
}

TEST(PrefixCache, CheckSeesAPoolThatDisagrees) {
  CacheOnPool cache({.block_tokens = 2, .snapshots_max = 4});
  cache.insert(text("abc"));
  const Snapshot held = *cache->find(text("abc"), 3).snapshot;
  cache.pool().give_slot(held.slot);
  EXPECT_EQ(cache->check().code(), Code::kInternal);
  EXPECT_EQ(cache.pool().take_slot(), held.slot);
  EXPECT_TRUE(cache->check().ok());
  cache.pool().drop_block(held.blocks[0]);
  EXPECT_EQ(cache->check().code(), Code::kInternal);
  EXPECT_EQ(cache.pool().take_block(), held.blocks[0]);
  cache.check();
}

TEST(PrefixCache, LongPromptsWithManySnapshotsAreWalkedOnce) {
  // Quadratic work would be 10^10 steps for each find.
  constexpr int32_t kTokens = 100000;
  CacheOnPool cache({.block_tokens = 64, .snapshots_max = 200},
                    {.slots = 300, .slot_bytes = 8, .blocks = 4000, .block_bytes = 8});
  Tokens prompt(kTokens);
  std::iota(prompt.begin(), prompt.end(), 0);
  for (int32_t length = 1000; length <= kTokens; length += 1000) {
    ASSERT_TRUE(cache.insert(Tokens(prompt.begin(), prompt.begin() + length)));
  }
  for (int32_t i = 0; i < 200; ++i) {
    Tokens other = prompt;
    other[static_cast<size_t>(kTokens - 1 - i * 400)] = -1;
    ASSERT_EQ(cache.known(other), kTokens - 1 - i * 400);
    ASSERT_EQ(cache.found(other), (kTokens - 1 - i * 400) / 1000 * 1000);
  }
  cache.check();
  while (cache->evict_one()) {
  }
  cache.check();
}

TEST(PrefixCache, AChainOfVeryManyTurnsEndsWithoutDeepRecursion) {
  constexpr int32_t kTurns = 30000;
  StatePool pool = StatePool::create({.blocks = 1, .block_bytes = 8}).value();
  const BlockId block = pool.take_block();
  {
    PrefixCache cache({.block_tokens = 1 << 20, .snapshots_max = kTurns}, &pool, nullptr);
    const Tokens tokens(kTurns, 1);
    for (size_t length = kTurns; length > 0; --length) {  // the cheap order to build a chain in
      pool.share_block(block);
      cache.insert(std::span(tokens).first(length),
                   {.position = static_cast<int64_t>(length), .slot = kNone, .blocks = {block}},
                   SnapshotKind::kAnswerEnd);
    }
    EXPECT_EQ(cache.size(), kTurns);
    EXPECT_EQ(cache.blocks_held(), 1);
    EXPECT_EQ(pool.references(block), kTurns + 1);
  }
  EXPECT_EQ(pool.references(block), 1);
}

}  // namespace
}  // namespace trine::serving
