# What `cmake --install` puts where: the executable, libtrine.a with its headers, a CMake package
# (find_package(trine), trine::trine), pkg-config data, the man page and the bash completion.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/trine)
if(TARGET trine)
  install(TARGETS trine RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS trine_library EXPORT trineTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/trine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

install(EXPORT trineTargets NAMESPACE trine:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/trineConfig.cmake.in
  ${PROJECT_BINARY_DIR}/trineConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/trineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/trineConfig.cmake
  ${PROJECT_BINARY_DIR}/trineConfigVersion.cmake DESTINATION ${package_dir})

# Paths relative to the .pc file, so that an installed tree may be moved.
file(RELATIVE_PATH TRINE_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/trine.pc.in ${PROJECT_BINARY_DIR}/trine.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/trine.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/man/trine.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/completions/trine.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME trine)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/trine.service ${PROJECT_SOURCE_DIR}/packaging/trine.conf
  ${PROJECT_SOURCE_DIR}/packaging/nginx.conf ${PROJECT_SOURCE_DIR}/packaging/grafana.json
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
