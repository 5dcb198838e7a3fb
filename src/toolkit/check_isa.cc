// Whether this machine has an ISA level.
#include "base/try.h"
#include "engine/int8_inputs.h"
#include "platform/cpu.h"
#include "trine/toolkit.h"

namespace trine {

Status check_isa(const std::string& isa, bool int8_inputs) {
  TRINE_ASSIGN_OR_RETURN(const Isa chosen, choose_isa(isa));
  return int8_inputs ? engine::check_int8_inputs(chosen) : Status();
}

}  // namespace trine
