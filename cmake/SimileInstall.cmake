# The package that find_package(simile) finds: the modules' archives and public headers (simile_module), a target over
# those of each component (simile::serving needs no torch, simile::training does), simile::simile over all installed
# ones, and the code that finds the libraries they need.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/simile)
set(SIMILE_COMPONENTS serving)
if(SIMILE_TRAINING)
  list(APPEND SIMILE_COMPONENTS training)
endif()

foreach(component ${SIMILE_COMPONENTS})
  get_property(modules GLOBAL PROPERTY SIMILE_MODULES_${component})
  add_library(simile_${component} INTERFACE)
  target_link_libraries(simile_${component} INTERFACE ${modules})
  set_target_properties(simile_${component} PROPERTIES EXPORT_NAME ${component})
  install(TARGETS simile_${component} ${modules} EXPORT simile_${component}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT simile_${component} NAMESPACE simile:: FILE simile_${component}.cmake
          DESTINATION ${package_folder} COMPONENT development)
endforeach()
install(TARGETS simile_settings EXPORT simile_serving)
if(SIMILE_TRAINING)
  target_link_libraries(simile_training INTERFACE simile_serving)
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/simileConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/simileConfig.cmake INSTALL_DESTINATION ${package_folder}
                              PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/simileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/simileConfig.cmake ${PROJECT_BINARY_DIR}/simileConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/SimileLibraries.cmake
        DESTINATION ${package_folder} COMPONENT development)
