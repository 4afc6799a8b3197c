# SPDX-License-Identifier: Apache-2.0
# The build's vocabulary: fattn_library(NAME SOURCES ... LINK ...), fattn_tool, fattn_test, fattn_fuzzer. Internal headers are included from the
# repository root ("compiler/dialect/Tile.h"), public ones from <folder>/include ("fattn/dsl/Dsl.h").
add_library(fattn_options INTERFACE)
# Source locations, which kernels' errors and IR carry, are relative to the repository and not to the machine it was built on
# (the second form is what a compiler cache with a base directory makes of the path).
file(RELATIVE_PATH FATTN_SOURCE_FROM_BINARY ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
target_compile_options(fattn_options INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/= -fmacro-prefix-map=${FATTN_SOURCE_FROM_BINARY}=)
target_compile_options(fattn_options INTERFACE -Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections)
if(FATTN_SANITIZE)
  # A program ends at the first report, which takes less code than to go on. A call of a compiled kernel has no type that the function
  # sanitizer could look up, in front of its entry.
  target_compile_options(fattn_options INTERFACE -fsanitize=${FATTN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1
                         -D_GLIBCXX_ASSERTIONS)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(fattn_options INTERFACE -fno-sanitize=function -fsanitize-ignorelist=${CMAKE_SOURCE_DIR}/scripts/ubsan.ignore)
  endif()
  target_link_options(fattn_options INTERFACE -fsanitize=${FATTN_SANITIZE})
endif()
if(FATTN_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FATTN_FUZZERS needs clang, whose libFuzzer they use; the compiler is ${CMAKE_CXX_COMPILER_ID}. scripts/sanitize does it all.")
  endif()
  target_compile_options(fattn_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_options(fattn_options INTERFACE -Wl,--gc-sections)

# In C++23 mode clang instantiates MLIR's classes with libstdc++ 12 while they are incomplete (P2448): under clang the language is
# C++20 and only the library is told 23.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(CMAKE_CXX_STANDARD 20)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-U__cplusplus> $<$<COMPILE_LANGUAGE:CXX>:-D__cplusplus=202101L> -Wno-builtin-macro-redefined
                      -Wno-c++23-extensions)
endif()

# One precompiled header for everything that includes MLIR, made once (fattn_mlir_pch) and reused; and one for code that is not optimized, as
# a precompiled header serves one level of optimization only.
function(fattn_precompiled_header name)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/scripts/cmake/MlirPch.cpp)
  target_link_libraries(${name} PRIVATE fattn_options fattn_mlir)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/scripts/cmake/MlirPch.h)
endfunction()
fattn_precompiled_header(fattn_mlir_pch)
fattn_precompiled_header(fattn_mlir_pch_unoptimized)
target_compile_options(fattn_mlir_pch_unoptimized PRIVATE -O0)
set(FATTN_MLIR_PCH fattn_mlir_pch)

# Compiles the rest of a directory and the subdirectories added behind without optimization, in two fifths of the time: for code that takes
# longer to compile than to run. With SANITIZED only under the sanitizers.
macro(fattn_unoptimized)
  if(FATTN_SANITIZE OR NOT "${ARGN}" STREQUAL "SANITIZED")
    add_compile_options(-O0)
    set(FATTN_MLIR_PCH fattn_mlir_pch_unoptimized)
  endif()
endmacro()

# Debian's fmt is a shared library only; a relocatable tool takes the same headers with an archive of its own (FmtArchive.cpp).
if(FATTN_STATIC_LLVM)
  add_library(fattn_fmt STATIC ${CMAKE_SOURCE_DIR}/scripts/cmake/FmtArchive.cpp)
  target_compile_options(fattn_fmt PRIVATE -ffunction-sections -fdata-sections)
  target_compile_definitions(fattn_fmt PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  set(FATTN_FMT fattn_fmt)
else()
  set(FATTN_FMT fmt::fmt)
endif()
function(fattn_link target visibility)
  set(libraries ${ARGN})
  list(TRANSFORM libraries REPLACE "^fmt::fmt$" ${FATTN_FMT})
  target_link_libraries(${target} ${visibility} ${libraries})
endfunction()

# fattn_library(name SOURCES a.cpp... [LINK libs...] [LINK_PRIVATE libs...] [MLIR]): MLIR adds fattn_mlir privately and the PCH.
function(fattn_library name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;LINK;LINK_PRIVATE" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  endif()
  fattn_link(${name} PUBLIC ${A_LINK})
  fattn_link(${name} PRIVATE $<BUILD_INTERFACE:fattn_options> ${A_LINK_PRIVATE})
  if(A_MLIR)
    target_link_libraries(${name} PUBLIC fattn_mlir)
    target_precompile_headers(${name} REUSE_FROM ${FATTN_MLIR_PCH})
  endif()
endfunction()

function(fattn_tool name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  fattn_link(${name} PRIVATE fattn_options ${A_LINK})
  if(A_MLIR)
    # The precompiled header is compiled with -fPIC; with CMake's -fPIE for executables it would be ignored.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
    target_link_libraries(${name} PRIVATE fattn_mlir)
    target_precompile_headers(${name} REUSE_FROM ${FATTN_MLIR_PCH})
  endif()
endfunction()

# What tests run with: a cache of their own, which they write and do not read, as it is the compiler that they test; the host where they
# name no device, also on a machine with a GPU; and the default tile configurations, as what is shipped depends on the machine.
set(FATTN_TEST_ENVIRONMENT FATTN_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache FATTN_ALWAYS_COMPILE=1 FATTN_TARGET=host FATTN_TUNED_DIR=)

# A GoogleTest executable; every TEST becomes a ctest test.
function(fattn_test name)
  fattn_tool(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gtest_main)
  # A property of gtest_discover_tests cannot be a list; what it has found can be given one afterwards.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}-environment.cmake)
  file(WRITE ${file} "set_tests_properties(\${${name}_TESTS} PROPERTIES ENVIRONMENT \"${FATTN_TEST_ENVIRONMENT}\")")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# fattn_fuzzer(fuzz-x SOURCES ... LINK ... [MLIR]): a libFuzzer executable, built when FATTN_FUZZERS is on. Its seeds are the files of
# tests/fuzz/corpus/fuzz-x; a ctest test runs it over them once, scripts/fuzz runs it for a time.
function(fattn_fuzzer name)
  if(NOT FATTN_FUZZERS)
    return()
  endif()
  fattn_tool(${name} ${ARGN})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set(seeds ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  file(GLOB seed_files CONFIGURE_DEPENDS ${seeds}/*)
  if(NOT seed_files)
    message(FATAL_ERROR "${name}: no seeds in ${seeds}; a fuzzer starts from at least one valid input")
  endif()
  add_test(NAME ${name}.seeds COMMAND ${name} -runs=0 ${seeds})
endfunction()
