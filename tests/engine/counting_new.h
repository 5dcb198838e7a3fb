// Counts what this test binary takes from the heap through operator new.
#pragma once

#include <cstdint>

namespace trine::testing {

/// Calls of operator new so far, in all threads.
int64_t heap_allocations();

}  // namespace trine::testing
