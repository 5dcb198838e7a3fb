// All memory that sequences and snapshots live in: state slots and latent blocks, allocated and
// touched at start, never more. Blocks are shared by counting references.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "platform/memory.h"
#include "trine/status.h"

namespace trine::serving {

using SlotId = int32_t;
using BlockId = int32_t;
constexpr int32_t kNone = -1;

/// A slot or block that was never handed out, or was given back already, ends the process
/// (TRINE_CHECK): a mixed-up id would be another request's answer.
class StatePool {
 public:
  struct Options {
    int64_t slots = 0, slot_bytes = 0;
    int64_t blocks = 0, block_bytes = 0;
    bool poison = false;  ///< fill whatever is free with 0xFF: NaN in every float format
    /// memset of the first touch, by all threads where that places pages well; null: one thread.
    /// Dropped after create.
    std::function<void(std::byte* to, int value, int64_t bytes)> fill = nullptr;
  };
  /// What create will take, strides included; INT64_MAX where that is no number of bytes.
  static int64_t bytes_needed(const Options& options);
  /// Touches every page. kOutOfMemory with the numbers.
  static Result<StatePool> create(Options options);

  /// kNone when all are taken.
  SlotId take_slot();
  void give_slot(SlotId slot);
  std::byte* slot(SlotId slot);  ///< null where slots have no bytes
  BlockId take_block();          ///< one reference
  void share_block(BlockId block);
  void drop_block(BlockId block);  ///< free again at the last reference
  int32_t references(BlockId block) const;
  std::byte* block(BlockId block);  ///< null where blocks have no bytes

  int64_t slots_free() const;
  int64_t blocks_free() const;
  bool slot_taken(SlotId slot) const;  ///< false for ids that are none
  const Options& options() const { return options_; }
  /// Free lists and reference counts agree, and poison lies unharmed in all that is free (tests,
  /// after each simulated step).
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
