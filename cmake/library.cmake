# libtrine: all rooms in one static library with the public headers in include/trine.
set(objects "")
foreach(room ${TRINE_ROOMS})
  list(APPEND objects $<TARGET_OBJECTS:room_${room}>)
endforeach()
add_library(trine_library STATIC ${objects})
set_target_properties(trine_library PROPERTIES OUTPUT_NAME trine EXPORT_NAME trine)
target_include_directories(trine_library PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(trine_library PUBLIC cxx_std_20)
# Needed to link, not to compile against: the public headers use the standard library only.
target_link_libraries(trine_library PRIVATE ${TRINE_ROOM_LIBRARIES})
add_library(trine::trine ALIAS trine_library)
