// Whether this machine has an ISA level.
#include "platform/cpu.h"
#include "trine/toolkit.h"

namespace trine {

Status check_isa(const std::string& isa) { return choose_isa(isa).status(); }

}  // namespace trine
