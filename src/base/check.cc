// The end of a process whose own state contradicts itself (base/try.h).
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "base/try.h"

namespace trine {

// std::terminate with the text in the exception: the library itself writes to no stream.
void check_failed(const char* condition, const char* file, int line) {
  try {
    throw std::logic_error(std::string(file) + ":" + std::to_string(line) +
                           ": trine bug: " + condition);
  } catch (...) {
    std::terminate();
  }
}

}  // namespace trine
