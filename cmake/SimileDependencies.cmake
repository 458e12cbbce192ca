# Everything Simile stands on, found on the system (scripts/install-deps.sh installs it on Debian 12).
find_package(OpenMP REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n)
find_package(ZLIB REQUIRED)
find_package(zstd REQUIRED CONFIG)
find_package(EXPAT REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
find_package(BLAS REQUIRED)
find_package(LAPACK REQUIRED)
find_package(faiss REQUIRED)

if(SIMILE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(SIMILE_BENCH)
  find_package(OneDNN REQUIRED)  # the reference peak
endif()

if(SIMILE_TRAINING)
  find_package(Torch REQUIRED)
  # Torch's own target adds its flags to everything that links it; this one keeps headers `system`.
  add_library(simile_torch INTERFACE)
  target_include_directories(simile_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(simile_torch INTERFACE ${TORCH_LIBRARIES})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What a cache needs to know to keep files that include a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
