# Flags of every target: warnings, hardening, and arithmetic that the compiler may not rearrange.
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wcast-align -Wdouble-promotion -Wnull-dereference -Wimplicit-fallthrough
  -Wformat=2 -Wundef -Wvla)
if(TRINE_WERROR)
  add_compile_options(-Werror)
endif()

# Bits must not depend on what the compiler fuses: FMA only where a kernel says so.
add_compile_options(-ffp-contract=off -fvisibility=hidden -fstack-protector-strong)
add_compile_definitions(_GLIBCXX_ASSERTIONS)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()

if(TRINE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TRINE_FUZZ needs clang (libFuzzer): configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  set(TRINE_SANITIZE address,undefined)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(TRINE_SANITIZE)
  add_compile_options(-fsanitize=${TRINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${TRINE_SANITIZE})
endif()
