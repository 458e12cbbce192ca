# Everything Simile is built with, found on the system (scripts/install-deps.sh installs it on Debian 12).
include(SimileLibraries)
find_package(CLI11 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)  # headers, only in sources: programs that link Simile need none
find_path(SIMILE_HNSWLIB hnswlib/hnswlib.h REQUIRED)  # headers too

if(SIMILE_TESTS)
  find_package(GTest REQUIRED)
  pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)  # clients and servers of tests
  include(GoogleTest)
endif()
if(SIMILE_BENCH)
  find_package(OneDNN REQUIRED)  # the reference peak
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Settings that ccache needs to cache files that include a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
