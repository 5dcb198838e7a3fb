// Slots and blocks: what is handed out, shared, given back, poisoned, and refused.
#include "serving/state_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace trine::serving {
namespace {

StatePool make(StatePool::Options options) {
  auto pool = StatePool::create(std::move(options));
  EXPECT_TRUE(pool.ok()) << pool.status().to_string();
  return *std::move(pool);
}

bool all_nan(const std::byte* data, int64_t bytes) {
  std::vector<float> values(static_cast<size_t>(bytes) / sizeof(float));
  std::memcpy(values.data(), data, values.size() * sizeof(float));
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

TEST(StatePool, HandsOutEverythingOnceAndThenNothing) {
  StatePool pool = make({.slots = 3, .slot_bytes = 100, .blocks = 5, .block_bytes = 7});
  std::set<SlotId> slots;
  std::set<BlockId> blocks;
  for (int i = 0; i < 3; ++i) slots.insert(pool.take_slot());
  for (int i = 0; i < 5; ++i) blocks.insert(pool.take_block());
  EXPECT_EQ(slots, (std::set<SlotId>{0, 1, 2}));
  EXPECT_EQ(blocks, (std::set<BlockId>{0, 1, 2, 3, 4}));
  EXPECT_EQ(pool.take_slot(), kNone);
  EXPECT_EQ(pool.take_block(), kNone);
  EXPECT_EQ(pool.slots_free(), 0);
  EXPECT_EQ(pool.blocks_free(), 0);
  EXPECT_TRUE(pool.check().ok());
  pool.give_slot(1);
  pool.drop_block(4);
  EXPECT_EQ(pool.take_slot(), 1);
  EXPECT_EQ(pool.take_block(), 4);
}

TEST(StatePool, MemoryIsAlignedApartAndOfTheSizeAskedFor) {
  StatePool pool = make({.slots = 4, .slot_bytes = 65, .blocks = 4, .block_bytes = 64});
  for (int32_t i = 0; i < 4; ++i) {
    const SlotId slot = pool.take_slot();
    const BlockId block = pool.take_block();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.slot(slot)) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.block(block)) % 64, 0u);
    std::memset(pool.slot(slot), i + 1, 65);
    std::memset(pool.block(block), i + 101, 64);
  }
  for (int32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pool.slot(i)[0], std::byte(i + 1));
    EXPECT_EQ(pool.slot(i)[64], std::byte(i + 1));
    EXPECT_EQ(pool.block(i)[0], std::byte(i + 101));
    EXPECT_EQ(pool.block(i)[63], std::byte(i + 101));
  }
}

TEST(StatePool, LargeMemoryBeginsAtAHugePage) {
  StatePool pool = make({.slots = 3, .slot_bytes = 1 << 20, .blocks = 0, .block_bytes = 0});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.slot(pool.take_slot())) % (2u << 20), 0u);
}

TEST(StatePool, EveryPageIsTouchedAtTheStart) {
  const StatePool::Options options{
      .slots = 64, .slot_bytes = 1 << 20, .blocks = 64, .block_bytes = 1 << 20};
  const int64_t before = current_rss_bytes();
  const StatePool pool = make(options);
  // Within the slack of what the rest of the process may give back meanwhile.
  EXPECT_GE(current_rss_bytes() - before, StatePool::bytes_needed(options) * 9 / 10);
}

TEST(StatePool, TheCallerMayPlaceThePages) {
  int64_t filled = 0;
  StatePool pool = make({.slots = 2,
                         .slot_bytes = 64,
                         .blocks = 3,
                         .block_bytes = 128,
                         .poison = true,
                         .fill = [&](std::byte* to, int value, int64_t bytes) {
                           filled += bytes;
                           std::memset(to, value, static_cast<size_t>(bytes));
                         }});
  EXPECT_EQ(filled, 2 * 64 + 3 * 128);
  EXPECT_TRUE(pool.check().ok());
  EXPECT_FALSE(pool.options().fill);  // it may refer to what lives shorter than the pool
}

TEST(StatePool, BlocksAreFreeAtTheLastReference) {
  StatePool pool = make({.slots = 0, .slot_bytes = 0, .blocks = 1, .block_bytes = 64});
  const BlockId block = pool.take_block();
  pool.share_block(block);
  pool.share_block(block);
  EXPECT_EQ(pool.references(block), 3);
  pool.drop_block(block);
  pool.drop_block(block);
  EXPECT_EQ(pool.take_block(), kNone);
  pool.drop_block(block);
  EXPECT_EQ(pool.references(block), 0);
  EXPECT_EQ(pool.take_block(), block);
}

TEST(StatePool, WhatIsFreeIsNaNInTestMode) {
  StatePool pool =
      make({.slots = 2, .slot_bytes = 256, .blocks = 2, .block_bytes = 256, .poison = true});
  const SlotId slot = pool.take_slot();
  const BlockId block = pool.take_block();
  std::byte* slot_data = pool.slot(slot);
  std::byte* block_data = pool.block(block);
  EXPECT_TRUE(all_nan(slot_data, 256)) << "at the start";
  EXPECT_TRUE(all_nan(block_data, 256)) << "at the start";
  std::memset(slot_data, 0, 256);
  std::memset(block_data, 0, 256);
  pool.share_block(block);
  pool.drop_block(block);
  EXPECT_FALSE(all_nan(block_data, 256)) << "somebody still reads it";
  pool.give_slot(slot);
  pool.drop_block(block);
  EXPECT_TRUE(all_nan(slot_data, 256)) << "given back";
  EXPECT_TRUE(all_nan(block_data, 256)) << "given back";
}

TEST(StatePool, CheckFindsAWriteIntoWhatIsFree) {
  StatePool pool =
      make({.slots = 1, .slot_bytes = 100, .blocks = 1, .block_bytes = 100, .poison = true});
  const SlotId slot = pool.take_slot();
  std::byte* slot_data = pool.slot(slot);
  pool.give_slot(slot);
  EXPECT_TRUE(pool.check().ok());
  slot_data[99] = std::byte{0};
  EXPECT_EQ(pool.check().message(), "state pool: slot 0 was written to while free");
  slot_data[99] = std::byte{0xFF};
  const BlockId block = pool.take_block();
  std::byte* block_data = pool.block(block);
  pool.drop_block(block);
  block_data[0] = std::byte{1};
  EXPECT_EQ(pool.check().message(), "state pool: block 0 was written to while free");
}

TEST(StatePool, ModelsWithoutStatesOrLatentsGetIdsAllTheSame) {
  StatePool pool =
      make({.slots = 2, .slot_bytes = 0, .blocks = 2, .block_bytes = 0, .poison = true});
  EXPECT_EQ(pool.take_slot(), 0);
  EXPECT_EQ(pool.take_slot(), 1);
  EXPECT_EQ(pool.take_slot(), kNone);
  EXPECT_EQ(pool.slot(1), nullptr);
  const BlockId block = pool.take_block();
  EXPECT_EQ(pool.block(block), nullptr);
  pool.drop_block(block);
  pool.give_slot(0);
  EXPECT_TRUE(pool.check().ok());
  EXPECT_EQ(StatePool::bytes_needed(pool.options()), 0);
}

TEST(StatePool, AnEmptyPoolHasNothing) {
  StatePool pool = make({});
  EXPECT_EQ(pool.take_slot(), kNone);
  EXPECT_EQ(pool.take_block(), kNone);
  EXPECT_TRUE(pool.check().ok());
}

TEST(StatePool, WhatCannotFitIsRefusedWithTheNumbers) {
  const auto refused = StatePool::create(
      {.slots = 1000, .slot_bytes = int64_t{1} << 40, .blocks = 64, .block_bytes = 1 << 20});
  ASSERT_EQ(refused.status().code(), Code::kOutOfMemory);
  EXPECT_NE(refused.status().message().find("1000 state slots of 1.00 TiB and 64 latent blocks of "
                                            "1 MiB need 1000.00 TiB, available are "),
            std::string::npos)
      << refused.status().message();
  for (const int64_t bytes : {INT64_MAX, INT64_MAX - 64, INT64_MAX / 2}) {
    const StatePool::Options huge{
        .slots = 2, .slot_bytes = bytes, .blocks = 2, .block_bytes = bytes};
    EXPECT_EQ(StatePool::bytes_needed(huge), INT64_MAX);
    EXPECT_EQ(StatePool::create(huge).status().code(), Code::kOutOfMemory);
  }
}

TEST(StatePool, CountsThatAreNoneAreInvalid) {
  for (const StatePool::Options& options :
       {StatePool::Options{.slots = -1}, StatePool::Options{.blocks = -1},
        StatePool::Options{.slot_bytes = -1}, StatePool::Options{.block_bytes = -1},
        StatePool::Options{.slots = int64_t{1} << 31},
        StatePool::Options{.blocks = int64_t{1} << 31}}) {
    EXPECT_EQ(StatePool::create(options).status().code(), Code::kInvalidArgument);
  }
}

using StatePoolDeathTest = ::testing::Test;

TEST(StatePoolDeathTest, GivingTwiceOrWhatIsForeignEndsTheProcess) {
  StatePool pool = make({.slots = 2, .slot_bytes = 64, .blocks = 2, .block_bytes = 64});
  const SlotId slot = pool.take_slot();
  const BlockId block = pool.take_block();
  pool.give_slot(slot);
  pool.drop_block(block);
  constexpr char kBug[] = "trine bug: ";
  EXPECT_DEATH(pool.give_slot(slot), kBug);
  EXPECT_DEATH(pool.give_slot(kNone), kBug);
  EXPECT_DEATH(pool.give_slot(2), kBug);
  EXPECT_DEATH(pool.slot(slot), kBug);
  EXPECT_DEATH(pool.drop_block(block), kBug);
  EXPECT_DEATH(pool.share_block(block), kBug);
  EXPECT_DEATH(pool.drop_block(kNone), kBug);
  EXPECT_DEATH(pool.block(2), kBug);
  EXPECT_DEATH(static_cast<void>(pool.references(-7)), kBug);
}

TEST(StatePool, AgreesWithItsTwinWhateverIsTakenSharedAndGiven) {
  const uint32_t seed = 20260801;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  StatePool pool =
      make({.slots = 5, .slot_bytes = 40, .blocks = 9, .block_bytes = 72, .poison = true});
  std::set<SlotId> slots;
  std::map<BlockId, int32_t> blocks;
  for (int step = 0; step < 20000; ++step) {
    const auto pick = [&](auto& from) {
      return std::next(from.begin(), static_cast<std::ptrdiff_t>(random() % from.size()));
    };
    switch (random() % 5) {
      case 0: {
        const SlotId slot = pool.take_slot();
        ASSERT_EQ(slot == kNone, slots.size() == 5);
        if (slot != kNone) {
          ASSERT_TRUE(slots.insert(slot).second);
          std::memset(pool.slot(slot), 0, 40);
        }
        break;
      }
      case 1: {
        const BlockId block = pool.take_block();
        ASSERT_EQ(block == kNone, blocks.size() == 9);
        if (block != kNone) {
          ASSERT_TRUE(blocks.emplace(block, 1).second);
          std::memset(pool.block(block), 0, 72);
        }
        break;
      }
      case 2:
        if (!slots.empty()) {
          const auto it = pick(slots);
          pool.give_slot(*it);
          slots.erase(it);
        }
        break;
      case 3:
        if (!blocks.empty()) {
          const auto it = pick(blocks);
          pool.share_block(it->first);
          ++it->second;
        }
        break;
      default:
        if (!blocks.empty()) {
          const auto it = pick(blocks);
          pool.drop_block(it->first);
          if (--it->second == 0) blocks.erase(it);
        }
    }
    ASSERT_EQ(pool.slots_free(), 5 - static_cast<int64_t>(slots.size()));
    ASSERT_EQ(pool.blocks_free(), 9 - static_cast<int64_t>(blocks.size()));
    for (const auto& [block, count] : blocks) ASSERT_EQ(pool.references(block), count);
    ASSERT_TRUE(pool.check().ok()) << pool.check().message();
  }
}

}  // namespace
}  // namespace trine::serving
