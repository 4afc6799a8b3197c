# SPDX-License-Identifier: Apache-2.0
# Finds LLVM and MLIR 22 and defines what our targets link: fattn_mlir (headers, definitions, and the shared libraries or the archives).
# MLIR's package accepts no version argument "22", so the version is checked here.
find_program(FATTN_LLVM_CONFIG NAMES llvm-config-22 llvm-config REQUIRED)
execute_process(COMMAND ${FATTN_LLVM_CONFIG} --prefix OUTPUT_VARIABLE FATTN_LLVM_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE)
find_package(MLIR REQUIRED CONFIG HINTS ${FATTN_LLVM_PREFIX} NO_DEFAULT_PATH)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "fattn needs LLVM/MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${FATTN_LLVM_PREFIX}; "
                      "on Debian: apt-get install libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools liblld-22-dev")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(fattn_mlir INTERFACE)
target_include_directories(fattn_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(FATTN_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(fattn_mlir INTERFACE ${FATTN_LLVM_DEFINITIONS})
if(FATTN_STATIC_LLVM)
  include(FattnStaticLLVM)
else()
  target_link_libraries(fattn_mlir INTERFACE MLIR LLVM)
endif()

# The program lld links an executable in an eighth of the time of GNU's linker; there are more than 80.
find_program(FATTN_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
if(FATTN_LLD)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -fuse-ld=lld -B${LLVM_TOOLS_BINARY_DIR}")
endif()

# lld as a library, which is installed as archives only: the linker of AMD's code objects.
add_library(fattn_lld INTERFACE)
foreach(part ELF Common)
  find_library(FATTN_LLD_${part} liblld${part}.a HINTS ${LLVM_LIBRARY_DIR} NO_DEFAULT_PATH REQUIRED)
  target_link_libraries(fattn_lld INTERFACE ${FATTN_LLD_${part}})
endforeach()
if(FATTN_STATIC_LLVM)
  target_link_libraries(fattn_lld INTERFACE fattn_mlir ${FATTN_ZSTD_ARCHIVE} ${FATTN_ZLIB_ARCHIVE})
else()
  target_link_libraries(fattn_lld INTERFACE fattn_mlir zstd z)
endif()
