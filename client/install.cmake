# What a user of libplov finds: the library, its headers, plov.pc, a CMake package, the examples.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/plov)
install(TARGETS plov EXPORT plovTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/plov.h include/plov_vectors.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/plov/client.h include/plov/vectors.h ${PROJECT_SOURCE_DIR}/verify/elements.h ${PROJECT_SOURCE_DIR}/verify/error.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plov)

install(EXPORT plovTargets NAMESPACE plov:: DESTINATION ${package_folder})
configure_package_config_file(plovConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/plovConfig.cmake
  INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor release may change anything.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/plovConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plovConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/plovConfigVersion.cmake
  DESTINATION ${package_folder})

# Written when it is installed, because `cmake --install --prefix` may name another prefix then.
install(CODE "
  set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
  set(libdir \"${CMAKE_INSTALL_LIBDIR}\")
  set(includedir \"${CMAKE_INSTALL_INCLUDEDIR}\")
  set(description \"${PROJECT_DESCRIPTION}\")
  set(version \"${PROJECT_VERSION}\")
  configure_file(\"${CMAKE_CURRENT_SOURCE_DIR}/plov.pc.in\"
    \"${CMAKE_CURRENT_BINARY_DIR}/plov.pc\" @ONLY)")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plov.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
