// The kernels other than matmul that the BF16 unit makes faster than those of AVX-512.
#pragma once

#include "kernels/args.h"

namespace trine::kernels::avx512bf16 {

/// bf16 latent rows: queries and probabilities rounded to bf16. fp32 rows: as AVX-512 does it.
void mla(const MlaArgs& args);

}  // namespace trine::kernels::avx512bf16
