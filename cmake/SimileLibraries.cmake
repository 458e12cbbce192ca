# The libraries Simile's modules stand on, for the build and for whoever links the installed modules
# (simileConfig.cmake includes this file). With SIMILE_TRAINING: torch as well, as the target simile_torch.
find_package(OpenMP REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n)
find_package(ZLIB REQUIRED)
find_package(zstd REQUIRED CONFIG)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

if(SIMILE_TRAINING)
  find_package(Torch REQUIRED)
  # Torch's own target adds its flags to everything that links it; this one keeps headers `system`.
  add_library(simile_torch INTERFACE IMPORTED)
  target_include_directories(simile_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(simile_torch INTERFACE ${TORCH_LIBRARIES})
endif()
