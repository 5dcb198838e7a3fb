#include "serving/state_pool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/try.h"

namespace trine::serving {
namespace {

constexpr int64_t kAlignBytes = 64;
constexpr int kPoison = 0xFF;

int64_t round_up(int64_t bytes) { return (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes; }

// count * round_up(bytes); INT64_MAX when that overflows.
int64_t total_bytes(int64_t count, int64_t bytes) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  if (count == 0) return 0;
  if (bytes > kNever - kAlignBytes) return kNever;
  int64_t total = 0;
  return __builtin_mul_overflow(count, round_up(bytes), &total) ? kNever : total;
}

std::string in_numbers(const char* what, int64_t count, int64_t bytes) {
  return std::to_string(count) + " " + what + " of " + format_bytes(bytes);
}

Status check_options(const StatePool::Options& o) {
  const auto is_count = [](int64_t n) {
    return n >= 0 && n <= std::numeric_limits<int32_t>::max();
  };
  if (is_count(o.slots) && is_count(o.blocks) && o.slot_bytes >= 0 && o.block_bytes >= 0) return {};
  return Status(Code::kInvalidArgument, "state pool: found " +
                                            in_numbers("slots", o.slots, o.slot_bytes) + " and " +
                                            in_numbers("blocks", o.blocks, o.block_bytes) +
                                            ", expected counts of 0 to 2,147,483,647");
}

// The pages of anonymous memory are promises until they are written; running out of them later
// kills the process, so what is not there now is refused.
Status check_available(const StatePool::Options& o, int64_t needed) {
  const MemoryLimit limit = memory_limit();
  if (needed <= limit.available_bytes) return {};
  return Status(Code::kOutOfMemory,
                "state pool: " + in_numbers("state slots", o.slots, o.slot_bytes) + " and " +
                    in_numbers("latent blocks", o.blocks, o.block_bytes) + " need " +
                    format_bytes(needed) + ", available are " +
                    format_bytes(limit.available_bytes) + " (" + limit.source +
                    "); lower the concurrency, the context or the snapshot memory");
}

// Ids 0, 1, 2, ... come out first; after that what was given last, which is warm in the cache.
std::vector<int32_t> descending(int64_t count) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  auto next = static_cast<int32_t>(count);
  for (int32_t& id : ids) id = --next;
  return ids;
}

bool is_poisoned(const std::byte* data, int64_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{kPoison}; });
}

Status contradiction(const std::string& what, int32_t id, const std::string& found) {
  return Status(Code::kInternal, "state pool: " + what + " " + std::to_string(id) + " " + found);
}

}  // namespace

int64_t StatePool::bytes_needed(const Options& options) {
  const int64_t slots = total_bytes(options.slots, options.slot_bytes);
  const int64_t blocks = total_bytes(options.blocks, options.block_bytes);
  int64_t sum = 0;
  if (__builtin_add_overflow(slots, blocks, &sum)) return std::numeric_limits<int64_t>::max();
  return sum;
}

Result<StatePool> StatePool::create(Options options) {
  TRINE_RETURN_IF_ERROR(check_options(options));
  TRINE_RETURN_IF_ERROR(check_available(options, bytes_needed(options)));
  StatePool pool;
  pool.slot_stride_ = round_up(options.slot_bytes);
  pool.block_stride_ = round_up(options.block_bytes);
  for (auto [memory, bytes] :
       {std::pair(&pool.slot_memory_, options.slots * pool.slot_stride_),
        std::pair(&pool.block_memory_, options.blocks * pool.block_stride_)}) {
    TRINE_ASSIGN_OR_RETURN(*memory, Buffer::allocate(bytes));
    if (bytes == 0) continue;
    const int value = options.poison ? kPoison : 0;
    if (options.fill) {
      options.fill(memory->data(), value, bytes);
    } else {
      std::memset(memory->data(), value, static_cast<size_t>(bytes));
    }
  }
  options.fill = nullptr;
  pool.free_slots_ = descending(options.slots);
  pool.free_blocks_ = descending(options.blocks);
  pool.slot_taken_.assign(static_cast<size_t>(options.slots), false);
  pool.references_.assign(static_cast<size_t>(options.blocks), 0);
  pool.options_ = std::move(options);
  return pool;
}

SlotId StatePool::take_slot() {
  if (free_slots_.empty()) return kNone;
  const SlotId id = free_slots_.back();
  free_slots_.pop_back();
  slot_taken_[static_cast<size_t>(id)] = true;
  return id;
}

void StatePool::give_slot(SlotId slot) {
  TRINE_CHECK(slot_taken(slot));
  if (options_.poison && slot_stride_ > 0) {
    std::memset(slot_memory_.data() + slot * slot_stride_, kPoison,
                static_cast<size_t>(slot_stride_));
  }
  slot_taken_[static_cast<size_t>(slot)] = false;
  free_slots_.push_back(slot);
}

std::byte* StatePool::slot(SlotId slot) {
  TRINE_CHECK(slot_taken(slot));
  return slot_stride_ == 0 ? nullptr : slot_memory_.data() + slot * slot_stride_;
}

BlockId StatePool::take_block() {
  if (free_blocks_.empty()) return kNone;
  const BlockId id = free_blocks_.back();
  free_blocks_.pop_back();
  references_[static_cast<size_t>(id)] = 1;
  return id;
}

void StatePool::share_block(BlockId block) {
  TRINE_CHECK(references(block) > 0);
  TRINE_CHECK(references(block) < std::numeric_limits<int32_t>::max());
  ++references_[static_cast<size_t>(block)];
}

void StatePool::drop_block(BlockId block) {
  TRINE_CHECK(references(block) > 0);
  if (--references_[static_cast<size_t>(block)] > 0) return;
  if (options_.poison && block_stride_ > 0) {
    std::memset(block_memory_.data() + block * block_stride_, kPoison,
                static_cast<size_t>(block_stride_));
  }
  free_blocks_.push_back(block);
}

int32_t StatePool::references(BlockId block) const {
  TRINE_CHECK(block >= 0 && block < options_.blocks);
  return references_[static_cast<size_t>(block)];
}

std::byte* StatePool::block(BlockId block) {
  TRINE_CHECK(references(block) > 0);
  return block_stride_ == 0 ? nullptr : block_memory_.data() + block * block_stride_;
}

int64_t StatePool::slots_free() const { return static_cast<int64_t>(free_slots_.size()); }

int64_t StatePool::blocks_free() const { return static_cast<int64_t>(free_blocks_.size()); }

bool StatePool::slot_taken(SlotId slot) const {
  return slot >= 0 && slot < options_.slots && slot_taken_[static_cast<size_t>(slot)];
}

Status StatePool::check() const {
  const auto check_kind = [this](const char* what, int64_t count, const std::vector<int32_t>& free,
                                 const auto& is_taken, const Buffer& memory, int64_t stride) {
    std::vector<bool> listed(static_cast<size_t>(count), false);
    for (const int32_t id : free) {
      if (id < 0 || id >= count) return contradiction(what, id, "is on the free list but is none");
      if (listed[static_cast<size_t>(id)]) return contradiction(what, id, "is free twice");
      listed[static_cast<size_t>(id)] = true;
      if (options_.poison && !is_poisoned(memory.data() + id * stride, stride)) {
        return contradiction(what, id, "was written to while free");
      }
    }
    for (int32_t id = 0; id < count; ++id) {
      const bool taken = is_taken(id);
      if (taken != listed[static_cast<size_t>(id)]) continue;
      return contradiction(what, id, taken ? "is taken and free" : "is neither taken nor free");
    }
    return Status();
  };
  TRINE_RETURN_IF_ERROR(check_kind(
      "slot", options_.slots, free_slots_, [this](int32_t id) { return slot_taken(id); },
      slot_memory_, slot_stride_));
  for (BlockId id = 0; id < options_.blocks; ++id) {
    if (references(id) < 0) return contradiction("block", id, "has fewer than no references");
  }
  return check_kind(
      "block", options_.blocks, free_blocks_, [this](int32_t id) { return references(id) > 0; },
      block_memory_, block_stride_);
}

}  // namespace trine::serving
