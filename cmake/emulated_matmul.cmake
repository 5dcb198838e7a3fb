# test_kernels_matmul_emulated: the AVX-512 and AMX matmuls compiled once more over instructions written in
# plain C++, so that packing, indexing and order are tested on every machine.
file(GLOB emulated CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/kernels/emulated/*.cc)
set(objects "")
foreach(used tensor platform base)
  list(APPEND objects $<TARGET_OBJECTS:room_${used}>)
endforeach()
trine_test(kernels_matmul_emulated ${emulated} ${PROJECT_SOURCE_DIR}/tests/kernels/matmul_test.cc
  ${PROJECT_SOURCE_DIR}/tests/kernels/matmul_i8_test.cc ${PROJECT_SOURCE_DIR}/src/kernels/pack.cc
  ${PROJECT_SOURCE_DIR}/src/kernels/pack_int8.cc ${PROJECT_SOURCE_DIR}/src/kernels/scalar/matmul.cc
  ${PROJECT_SOURCE_DIR}/src/kernels/scalar/matmul_i8.cc ${objects})
target_include_directories(test_kernels_matmul_emulated BEFORE PRIVATE
  ${PROJECT_SOURCE_DIR}/tests/kernels/emulated/include)
target_compile_options(test_kernels_matmul_emulated PRIVATE -Wno-psabi -Wno-ignored-attributes)
target_link_libraries(test_kernels_matmul_emulated PRIVATE ${TRINE_ROOM_LIBRARIES})
