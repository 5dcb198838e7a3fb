// A door for `bench`: puts a sequence at a depth without computing the tokens up to it.
#pragma once

#include <cstdint>

#include "trine/model.h"
#include "trine/status.h"

namespace trine {

struct BenchAccess {
  /// Moves a sequence to `position` by repeating its latent rows; recurrent states stay as they
  /// are. What it says afterwards means nothing, but a token costs what it costs at that depth. The
  /// sequence must hold at least one token, and positions must agree modulo the KDA chunk.
  static Status skip_to(Sequence* sequence, int64_t position);
};

}  // namespace trine
