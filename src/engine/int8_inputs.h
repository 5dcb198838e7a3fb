// Whether the opt-in int8 path exists at an ISA level.
#pragma once

#include "platform/cpu.h"
#include "trine/status.h"

namespace trine::engine {

/// kUnsupported where there is no integer dot product: int8 inputs would only lose accuracy there.
Status check_int8_inputs(Isa isa);

}  // namespace trine::engine
