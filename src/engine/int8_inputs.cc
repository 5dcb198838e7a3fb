// The refusal of int8 inputs at levels that gain nothing by them.
#include "engine/int8_inputs.h"

#include <string>

#include "kernels/table.h"

namespace trine::engine {

Status check_int8_inputs(Isa isa) {
  if (kernels::kernel_table(isa).int8_inputs) return {};
  return {Code::kUnsupported, std::string("int8 inputs: found level ") + isa_name(isa) +
                                  ", expected one with an integer dot product (avx512_bf16 or "
                                  "higher); load without them"};
}

}  // namespace trine::engine
