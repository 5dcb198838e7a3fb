# test_kernels_ops_emulated: the tests of all kernels but matmul on AVX-512 kernels whose instructions
# SIMDe emulates, so that this level is tested on processors that lack it.
find_path(SIMDE_INCLUDE_DIR simde/x86/avx512.h)
if(SIMDE_INCLUDE_DIR AND TARGET test_kernels)
  set(emulated ${PROJECT_SOURCE_DIR}/tests/kernels/emulated_ops)
  add_library(emulated_ops_avx512 OBJECT ${emulated}/rows.cc ${emulated}/kda.cc ${emulated}/mla.cc)
  target_include_directories(emulated_ops_avx512 BEFORE PRIVATE ${emulated})
  target_include_directories(emulated_ops_avx512 PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  # -w: SIMDe's own warnings. Without -fno-tree-sra g++ 12 dies of an internal error.
  target_compile_options(emulated_ops_avx512 PRIVATE -w -O1 -mavx2 -mfma -mf16c
    $<$<CXX_COMPILER_ID:GNU>:-fno-tree-sra>)
  set(sources ${emulated}/table.cc)
  foreach(name rows activation conv kda mla)
    list(APPEND sources ${PROJECT_SOURCE_DIR}/tests/kernels/${name}_test.cc)
  endforeach()
  trine_test(kernels_ops_emulated ${sources} $<TARGET_OBJECTS:emulated_ops_avx512>
    $<TARGET_OBJECTS:room_kernels> $<TARGET_OBJECTS:room_tensor> $<TARGET_OBJECTS:room_platform>
    $<TARGET_OBJECTS:room_base>)
  target_compile_definitions(test_kernels_ops_emulated PRIVATE TRINE_EMULATED_AVX512)
  target_link_libraries(test_kernels_ops_emulated PRIVATE ${TRINE_ROOM_LIBRARIES})
endif()
