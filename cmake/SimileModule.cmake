# simile_module(NAME DEPENDS module... LIBRARIES target... [TORCH] [UNITY])
#
# Makes the static library simile_NAME from the sources of the current folder and, with SIMILE_TESTS, the
# program simile_NAME_test from the *_test.cpp files beside them. DEPENDS and LIBRARIES are public, in the
# order of the modules; TORCH links libtorch and shares one precompiled torch header. Headers outside detail/
# are installed (SimileInstall.cmake), but for core/check.h, which sources include. UNITY compiles eight sources at a time, for about the price of two: names in
# their anonymous namespaces must differ.

set(SIMILE_WARNINGS -Wall -Wextra)
if(SIMILE_WERROR)
  list(APPEND SIMILE_WARNINGS -Werror)
endif()

add_library(simile_settings INTERFACE)
target_include_directories(simile_settings INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(simile_settings INTERFACE cxx_std_17)
target_compile_options(simile_settings INTERFACE "$<BUILD_INTERFACE:${SIMILE_WARNINGS}>")
if(SIMILE_SANITIZE STREQUAL "address")
  target_compile_options(simile_settings INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                   -fno-omit-frame-pointer)
  target_link_options(simile_settings INTERFACE -fsanitize=address,undefined)
elseif(SIMILE_SANITIZE STREQUAL "fuzzer")
  target_compile_options(simile_settings INTERFACE -fsanitize=fuzzer-no-link,address,undefined
                                                   -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(simile_settings INTERFACE -fsanitize=address,undefined)
elseif(SIMILE_SANITIZE STREQUAL "thread")
  target_compile_options(simile_settings INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(simile_settings INTERFACE -fsanitize=thread)
endif()

# simile_precompile(target KIND header...): headers that take seconds to compile are compiled once for each kind of
# target that includes them, and every target of that kind shares the copy. KIND names the copy;
# SIMILE_PCH_<KIND>_LIBRARIES and _OPTIONS are the libraries and options that it is compiled with.
set(SIMILE_PCH_torch_LIBRARIES simile_torch)
set(SIMILE_PCH_test_LIBRARIES GTest::gmock)
set(SIMILE_PCH_torch_test_LIBRARIES simile_torch GTest::gmock)
# Tests spend their time in the library: optimising them too would take longer than it saves.
set(SIMILE_TEST_OPTIONS -O1)
set(SIMILE_PCH_test_OPTIONS ${SIMILE_TEST_OPTIONS})
set(SIMILE_PCH_torch_test_OPTIONS ${SIMILE_TEST_OPTIONS})
# Commands parse arguments and print.
set(SIMILE_CLI_OPTIONS -O1)
set(SIMILE_PCH_cli_LIBRARIES CLI11::CLI11)
set(SIMILE_PCH_cli_OPTIONS ${SIMILE_CLI_OPTIONS})
function(simile_precompile target kind)
  set(copy simile_${kind}_pch)
  if(NOT TARGET ${copy})
    file(WRITE ${CMAKE_BINARY_DIR}/${copy}.cpp "")
    add_library(${copy} STATIC ${CMAKE_BINARY_DIR}/${copy}.cpp)
    target_link_libraries(${copy} PRIVATE ${SIMILE_PCH_${kind}_LIBRARIES} simile_settings OpenMP::OpenMP_CXX)
    target_compile_options(${copy} PRIVATE ${SIMILE_PCH_${kind}_OPTIONS})
    target_precompile_headers(${copy} PRIVATE ${ARGN})
  endif()
  # The copy was compiled with -fPIC, as libraries are; programs would use -fPIE, which does not fit.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${copy})
endfunction()

# Tensors, their operations and autograd: half of what <torch/torch.h> costs each file, precompiled too.
set(SIMILE_TORCH_HEADERS <torch/types.h> <torch/autograd.h> <torch/utils.h>)

function(simile_use_torch target)
  target_link_libraries(${target} PRIVATE simile_torch)
  simile_precompile(${target} torch ${SIMILE_TORCH_HEADERS})
endfunction()

function(simile_use_cli11 target)
  target_link_libraries(${target} PRIVATE CLI11::CLI11)
  target_compile_options(${target} PRIVATE ${SIMILE_CLI_OPTIONS})
  simile_precompile(${target} cli <CLI/App.hpp>)
endfunction()

# Makes `target` a test program: of a module that uses torch where TORCH is given.
function(simile_test_program target)
  cmake_parse_arguments(ARG "TORCH" "" "" ${ARGN})
  target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE SIMILE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE ${SIMILE_TEST_OPTIONS})
  if(ARG_TORCH)
    target_link_libraries(${target} PRIVATE simile_torch)
    simile_precompile(${target} torch_test ${SIMILE_TORCH_HEADERS} <gmock/gmock.h>)
  else()
    simile_precompile(${target} test <gmock/gmock.h>)
  endif()
endfunction()

function(simile_module name)
  cmake_parse_arguments(ARG "TORCH;UNITY" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB tests CONFIGURE_DEPENDS *_test.cpp)
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND simile_)
  if(NOT sources)
    set(sources ${PROJECT_SOURCE_DIR}/cmake/empty.cpp)
  endif()
  add_library(simile_${name} STATIC ${sources})
  target_link_libraries(simile_${name} PUBLIC simile_settings ${ARG_DEPENDS} ${ARG_LIBRARIES} OpenMP::OpenMP_CXX)
  if(ARG_TORCH)
    simile_use_torch(simile_${name})
  endif()
  set_target_properties(simile_${name} PROPERTIES EXPORT_NAME ${name})
  if(ARG_UNITY AND SIMILE_UNITY)
    set_target_properties(simile_${name} PROPERTIES UNITY_BUILD ON)
  endif()
  if(ARG_TORCH)
    set(component training)
  else()
    set(component serving)
  endif()
  set_property(GLOBAL APPEND PROPERTY SIMILE_MODULES_${component} simile_${name})
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/simile/${name} COMPONENT development
          FILES_MATCHING PATTERN "*.h" PATTERN detail EXCLUDE
          REGEX "/core/check\\.h$" EXCLUDE)
  if(SIMILE_TESTS AND tests)
    add_executable(simile_${name}_test ${tests})
    target_link_libraries(simile_${name}_test PRIVATE simile_${name})
    if(ARG_UNITY AND SIMILE_UNITY)
      set_target_properties(simile_${name}_test PROPERTIES UNITY_BUILD ON)
    endif()
    if(ARG_TORCH)
      simile_test_program(simile_${name}_test TORCH)
      simile_register_program(simile_${name}_test)
    else()
      simile_test_program(simile_${name}_test)
      simile_discover_tests(simile_${name}_test)
    endif()
    simile_discover_slow_tests(simile_${name}_test)
  endif()
endfunction()

# simile_levels(NAME OPTIONS option...): compiles detail/NAME.inc of the current module once for each instruction
# set, from a source that defines SIMILE_LEVEL(x) as xBaseline, xAvx2 or xAvx512, and SIMILE_LEVEL_NAME as the text
# that SIMILE_ISA takes. The module chooses among them when the program runs; SIMILE_X86 says that all three are there.
# simile_level(NAME LEVEL option...): the same for one more level.
set(SIMILE_AVX2_OPTIONS -mavx2 -mfma)
set(SIMILE_AVX512_OPTIONS ${SIMILE_AVX2_OPTIONS} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
function(simile_level name level)
  get_filename_component(module ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  string(TOLOWER ${level} lower)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_${level}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#define SIMILE_LEVEL(x) x##${level}
#define SIMILE_LEVEL_NAME \"${lower}\"
#include \"simile/${module}/detail/${name}.inc\"
")
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${ARGN}")
  target_sources(simile_${module} PRIVATE ${source})
endfunction()

function(simile_levels name)
  cmake_parse_arguments(ARG "" "" "OPTIONS" ${ARGN})
  get_filename_component(module ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(levels Baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND levels Avx2 Avx512)
    target_compile_definitions(simile_${module} PRIVATE SIMILE_X86)
  endif()
  foreach(level ${levels})
    string(TOUPPER ${level} upper)
    simile_level(${name} ${level} ${ARG_OPTIONS} ${SIMILE_${upper}_OPTIONS})
  endforeach()
endfunction()

# simile_lower_levels(NAME FILTER): the tests of the current module that FILTER names once more at the levels that
# this processor would not choose by itself, as NAME_baseline and NAME_avx2.
function(simile_lower_levels name filter)
  get_filename_component(module ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  if(NOT SIMILE_TESTS)
    return()
  endif()
  foreach(level baseline avx2)
    add_test(NAME ${name}_${level} COMMAND simile_${module}_test --gtest_filter=${filter})
    set_tests_properties(${name}_${level} PROPERTIES ENVIRONMENT SIMILE_ISA=${level} LABELS unit
                         SKIP_REGULAR_EXPRESSION "SIMILE_ISA=${level}: expected")
  endforeach()
endfunction()

# Registers every gtest case with ctest, but for those that simile_discover_slow_tests() does.
function(simile_discover_tests target)
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 TEST_FILTER "-*Slow.*" PROPERTIES LABELS unit TIMEOUT 300)
endfunction()

# The cases of a program as two tests, every other case in each: loading torch for each case would take longer
# than most of them, and one test alone would be what the others wait for.
function(simile_register_program target)
  foreach(shard 0 1)
    add_test(NAME ${target}_${shard} COMMAND ${target} --gtest_filter=-*Slow.* --gtest_brief=1)
    set_tests_properties(${target}_${shard} PROPERTIES LABELS unit TIMEOUT 900
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# Cases whose suite name ends in Slow are labelled `slow`.
function(simile_discover_slow_tests target)
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 TEST_FILTER "*Slow.*" TEST_LIST ${target}_slow
                       PROPERTIES LABELS slow TIMEOUT 1200)
endfunction()
