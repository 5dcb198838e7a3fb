// <immintrin.h> without g++ 12's false alarms: its AVX-512 functions start from an undefined
// register on purpose, which -Wmaybe-uninitialized reports once they are inlined (GCC bug 105593).
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
