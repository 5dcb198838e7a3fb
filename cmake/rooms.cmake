# A room is src/NAME: one object library that sees the public headers and the rooms it USES.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(ICU REQUIRED IMPORTED_TARGET icu-uc)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(SSL REQUIRED IMPORTED_TARGET libssl)
find_package(Boost 1.74 REQUIRED)  # headers only

set(TRINE_ROOMS "")
set(TRINE_ROOM_LIBRARIES Threads::Threads PkgConfig::HWLOC PkgConfig::ICU PkgConfig::SSL
  PkgConfig::CRYPTO)

set(TRINE_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(TRINE_ISA_FLAGS_avx512 ${TRINE_ISA_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(TRINE_ISA_FLAGS_avx512bf16 ${TRINE_ISA_FLAGS_avx512} -mavx512bf16 -mavx512vnni)
set(TRINE_ISA_FLAGS_amx ${TRINE_ISA_FLAGS_avx512bf16} -mamx-tile -mamx-bf16 -mamx-int8)

# Unrolled tiles of vectors: under sanitizers every access gets its check, which at -O3 and inlined
# takes compilers minutes per file. So -O1, ASan by calls, and UBSan on the scalar twins only.
set(TRINE_ISA_TUNING -O3)
if(TRINE_SANITIZE)
  set(TRINE_ISA_TUNING -O1 -fno-sanitize=undefined)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND TRINE_ISA_TUNING -fno-sanitize=fuzzer-no-link -mllvm
      -asan-instrumentation-with-call-threshold=0)
  endif()
endif()

function(trine_room name)
  cmake_parse_arguments(ROOM "" "" "USES;PACKAGES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  if(NOT sources)
    file(WRITE ${CMAKE_BINARY_DIR}/empty_${name}.cc "namespace trine {}\n")
    set(sources ${CMAKE_BINARY_DIR}/empty_${name}.cc)
  endif()
  add_library(room_${name} OBJECT ${sources})
  target_include_directories(room_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(room_${name} PUBLIC Threads::Threads)
  set_target_properties(room_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  foreach(package ${ROOM_PACKAGES})
    if(package STREQUAL nlohmann_json)
      target_link_libraries(room_${name} PRIVATE nlohmann_json::nlohmann_json)
    elseif(package STREQUAL boost)
      target_link_libraries(room_${name} PRIVATE Boost::headers)
      # g++ 12 sees null pointers in Asio's queues once they are inlined.
      target_compile_options(room_${name} PRIVATE -Wno-null-dereference)
      if(TRINE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(room_${name} PRIVATE -Wno-tsan)  # its fences, which TSan does not see
      endif()
    else()
      string(TOUPPER ${package} upper)
      target_link_libraries(room_${name} PRIVATE PkgConfig::${upper})
    endif()
  endforeach()
  foreach(isa avx2 avx512 avx512bf16 amx)
    file(GLOB isa_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/${isa}/*.cc)
    if(isa_sources)
      set_source_files_properties(${isa_sources} PROPERTIES COMPILE_OPTIONS "${TRINE_ISA_FLAGS_${isa}};${TRINE_ISA_TUNING}")
    endif()
  endforeach()
  set(TRINE_ROOMS ${TRINE_ROOMS} ${name} PARENT_SCOPE)
  set(TRINE_USES_${name} ${name} ${ROOM_USES} PARENT_SCOPE)
endfunction()
