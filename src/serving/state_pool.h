// All memory that sequences and snapshots live in: state slots and latent blocks, allocated and
// touched at start, never more. Blocks are shared by counting references.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/memory.h"
#include "trine/status.h"

namespace trine::serving {

using SlotId = int32_t;
using BlockId = int32_t;
constexpr int32_t kNone = -1;

class StatePool {
 public:
  struct Options {
    int64_t slots = 0, slot_bytes = 0;
    int64_t blocks = 0, block_bytes = 0;
    bool poison = false;  ///< fill whatever is free with 0xFF: NaN in every float format
  };
  /// Touches every page. kOutOfMemory with the numbers.
  static Result<StatePool> create(const Options& options);

  /// kNone when all are taken.
  SlotId take_slot();
  void give_slot(SlotId slot);
  std::byte* slot(SlotId slot);
  BlockId take_block();  ///< one reference
  void share_block(BlockId block);
  void drop_block(BlockId block);  ///< free again at the last reference
  int32_t references(BlockId block) const;
  std::byte* block(BlockId block);

  int64_t slots_free() const;
  int64_t blocks_free() const;
  const Options& options() const { return options_; }
  /// Free lists and reference counts agree (tests, after each simulated step).
  Status check() const;

 private:
  Options options_;
  Buffer slot_memory_, block_memory_;
  int64_t slot_stride_ = 0, block_stride_ = 0;
  std::vector<SlotId> free_slots_;
  std::vector<BlockId> free_blocks_;
  std::vector<bool> slot_taken_;
  std::vector<int32_t> references_;
};

}  // namespace trine::serving
