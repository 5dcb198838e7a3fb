# fuzz/NAME_fuzz.cc with its corpus in fuzz/corpus/NAME, built in one of two ways:
#   TRINE_FUZZ=ON (clang)  fuzz_NAME, a libFuzzer program under ASan and UBSan;
#   otherwise              replay_NAME, which runs the corpus once as an ordinary test.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  if(TRINE_FUZZ)
    set(target fuzz_${name})
    add_executable(${target} ${source})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    set(target replay_${name})
    add_executable(${target} ${source} ${PROJECT_SOURCE_DIR}/fuzz/replay_main.cc)
    add_test(NAME ${target} COMMAND ${target} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  endif()
  target_link_libraries(${target} PRIVATE trine_library)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(${target} PRIVATE -Wno-null-dereference)  # see tests.cmake
endforeach()
