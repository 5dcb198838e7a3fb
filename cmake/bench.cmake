# bench_kernels: kernels against this machine's read bandwidth and arithmetic peaks, measured in the same run.
option(TRINE_BENCH "Build the kernel micro-benchmark" OFF)
if(TRINE_BENCH)
  add_executable(bench_kernels bench/kernels/main.cc bench/kernels/peaks.cc
    $<TARGET_OBJECTS:room_kernels> $<TARGET_OBJECTS:room_tensor> $<TARGET_OBJECTS:room_platform>
    $<TARGET_OBJECTS:room_base>)
  target_include_directories(bench_kernels PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(bench_kernels PRIVATE ${TRINE_ROOM_LIBRARIES})

  # bench_ops: KDA and MLA against the same peaks.
  add_executable(bench_ops bench/ops/main.cc
    $<TARGET_OBJECTS:room_kernels> $<TARGET_OBJECTS:room_tensor> $<TARGET_OBJECTS:room_platform>
    $<TARGET_OBJECTS:room_base>)
  target_include_directories(bench_ops PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(bench_ops PRIVATE ${TRINE_ROOM_LIBRARIES})

  # bench_grammar: compile and mask times of structured output.
  add_executable(bench_grammar bench/grammar/main.cc
    $<TARGET_OBJECTS:room_grammar> $<TARGET_OBJECTS:room_base>)
  target_include_directories(bench_grammar PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(bench_grammar PRIVATE ${TRINE_ROOM_LIBRARIES})
endif()
