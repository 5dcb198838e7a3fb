# tests/ROOM/*_test.cc -> one gtest binary test_ROOM and one ctest entry ROOM. Only the room and what
# it uses is linked, so that a room's tests build without the rooms above it.
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Helpers of several rooms' tests: an archive, so that a test takes only what its own room can link.
file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cc)
if(support)
  add_library(test_support STATIC ${support})
  target_link_libraries(test_support PUBLIC GTest::gtest)
  target_include_directories(test_support PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_support PRIVATE TRINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()

# trine_test(NAME SOURCES... ) is what all test binaries have in common. Suites instantiated as Slow/
# are left to `ctest -C slow` where a room has them (trine_slow_test).
function(trine_test name)
  add_executable(test_${name} ${ARGN})
  target_link_libraries(test_${name} PRIVATE
    $<TARGET_NAME_IF_EXISTS:test_support> GTest::gtest GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE TRINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # g++ 12 sees null pointers in its own istreambuf_iterator, which tests read files with.
  target_compile_options(test_${name} PRIVATE -Wno-null-dereference)
  add_test(NAME ${name} COMMAND test_${name} --gtest_filter=-Slow/*)
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200)
endfunction()

# The rest of a room's tests: what takes long and repeats on more data what the fast set shows.
function(trine_slow_test name)
  add_test(NAME ${name}_slow COMMAND test_${name} --gtest_filter=Slow/* CONFIGURATIONS slow)
  set_tests_properties(${name}_slow PROPERTIES TIMEOUT 1200)
endfunction()

foreach(room ${TRINE_ROOMS})
  file(GLOB own CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/*_test.cc)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/*.cc)
  if(own)
    set(objects "")
    foreach(used ${TRINE_USES_${room}})
      list(APPEND objects $<TARGET_OBJECTS:room_${used}>)
    endforeach()
    trine_test(${room} ${sources} ${objects})
    target_link_libraries(test_${room} PRIVATE ${TRINE_ROOM_LIBRARIES})
  endif()
endforeach()

trine_slow_test(engine)

# tests/cli runs the executable itself: C++ tests find it as TRINE_BINARY, scripts as their argument.
if(TARGET trine)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/*.cc)
  if(sources)
    trine_test(cli ${sources})
    target_link_libraries(test_cli PRIVATE trine_library)
    target_compile_definitions(test_cli PRIVATE TRINE_BINARY="$<TARGET_FILE:trine>")
    add_dependencies(test_cli trine)
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/*_test.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME cli_${name} COMMAND Python3::Interpreter ${script} $<TARGET_FILE:trine>
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(cli_${name} PROPERTIES TIMEOUT 1200)
  endforeach()
endif()

if(TARGET trine)
  add_test(NAME docs COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/scripts/check_docs.py
    $<TARGET_FILE:trine>)
endif()
add_test(NAME tidy COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/scripts/tidy.py)
