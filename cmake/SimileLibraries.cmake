# The libraries that Simile's modules need, for the build and for projects that link the installed modules
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
find_package(Boost 1.74 REQUIRED)  # headers of Beast and Asio
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
find_path(STEMMER_INCLUDE_DIR libstemmer.h REQUIRED)
find_library(STEMMER_LIBRARY stemmer REQUIRED)
if(NOT TARGET Stemmer::stemmer)
  add_library(Stemmer::stemmer UNKNOWN IMPORTED)
  set_target_properties(Stemmer::stemmer PROPERTIES IMPORTED_LOCATION ${STEMMER_LIBRARY}
                                                    INTERFACE_INCLUDE_DIRECTORIES ${STEMMER_INCLUDE_DIR})
endif()

if(SIMILE_TRAINING)
  find_package(Torch REQUIRED)
  # Torch's own target adds its flags to everything that links it; this one keeps headers `system`.
  add_library(simile_torch INTERFACE IMPORTED)
  target_include_directories(simile_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  # The system's C++ library first: libtorch of the package index exports an older std::filesystem.
  target_link_libraries(simile_torch INTERFACE stdc++ ${TORCH_LIBRARIES})
  if(Torch_VERSION VERSION_GREATER_EQUAL 2.9)
    target_compile_features(simile_torch INTERFACE cxx_std_20)
  endif()
  if(EXISTS ${TORCH_INSTALL_PREFIX}/include/fmt)  # torch's own, of another version than that of the system
    target_compile_definitions(simile_torch INTERFACE FMT_HEADER_ONLY)
  endif()
endif()
