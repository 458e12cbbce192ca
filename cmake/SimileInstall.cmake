# The package that find_package(simile) finds: the modules' archives and public headers (simile_module), the
# target simile::simile over all of them, and what finds the libraries they stand on.
include(CMakePackageConfigHelpers)

add_library(simile_all INTERFACE)
add_library(simile::simile ALIAS simile_all)
get_property(modules GLOBAL PROPERTY SIMILE_MODULES)
target_link_libraries(simile_all INTERFACE ${modules})
set_target_properties(simile_all PROPERTIES EXPORT_NAME simile)
install(TARGETS simile_all simile_settings ${modules} EXPORT simileTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/simile)
install(EXPORT simileTargets NAMESPACE simile:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/simileConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/simileConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/simileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/simileConfig.cmake ${PROJECT_BINARY_DIR}/simileConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/SimileLibraries.cmake DESTINATION ${package_folder})
