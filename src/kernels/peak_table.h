// The peak loops of a level; loops that a level lacks are inherited from the level below.
#pragma once

#include "kernels/peak.h"
#include "platform/cpu.h"

namespace trine::kernels {

/// The level must be supported by this CPU.
const PeakTable& peak_table(Isa isa);

}  // namespace trine::kernels
