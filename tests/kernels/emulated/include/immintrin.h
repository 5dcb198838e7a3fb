// The AVX-512 instructions that the matmul kernels use, in plain C++, each as Intel's manual
// defines it. This header stands in for the compiler's when the kernels are compiled for tests on
// machines without them.
#pragma once

#include "emulated_floats.h"
#include "emulated_integers.h"
#include "emulated_lanes.h"
