// Instruction set levels: what this CPU has, and which one is used.
#pragma once

#include <string>
#include <vector>

#include "trine/status.h"

namespace trine {

/// Each level includes the ones before it. kAvx512Bf16 has BF16 and VNNI, kAmx bf16 and int8 tiles.
enum class Isa { kScalar, kAvx2, kAvx512, kAvx512Bf16, kAmx };

/// "scalar", "avx2", "avx512", "avx512_bf16", "amx": also the values of TRINE_ISA.
const char* isa_name(Isa isa);

/// The highest level this CPU and kernel can execute (AMX also needs the permission to use tiles).
Isa best_isa();
/// All levels up to best_isa(), lowest first.
std::vector<Isa> supported_isas();
/// The level to use: `override_name` if not empty (kUnsupported when the CPU lacks it,
/// kInvalidArgument when there is no such name), else best_isa().
Result<Isa> choose_isa(const std::string& override_name);
/// "AMD EPYC ..., family 25 model 1".
std::string cpu_model_name();

}  // namespace trine
