# SPDX-License-Identifier: Apache-2.0
# What is installed: a shared library with the public headers of its layers, the same for C, and the CMake package `fattn` that leads to them.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# MLIR names a type by the address of a variable that every library which asks for it holds a copy of. With a shared MLIR the dynamic
# linker has to make them one (the names of traits, by which MLIR would find its own, differ between compilers), so they are exported.
if(NOT FATTN_STATIC_LLVM)
  set(FATTN_SHARED_TYPE_IDS "    _ZZN4mlir6detail14TypeIDResolver*E2id; _ZGVZN4mlir6detail14TypeIDResolver*E2id;")
endif()
set(map ${CMAKE_BINARY_DIR}/fattn.map)
configure_file(scripts/cmake/fattn.map.in ${map} @ONLY)

# The layers with public headers come in as objects: as archives they would lose the functions that nothing inside calls.
set(FATTN_PUBLIC_LAYERS fattn_base fattn_runtime fattn_runtime_host fattn_runtime_cuda fattn_dsl fattn_kernel_core fattn_kernel_layer fattn_templates fattn_attention fattn_kernels)
add_library(fattn SHARED)
add_library(fattn::fattn ALIAS fattn)
foreach(layer ${FATTN_PUBLIC_LAYERS})
  target_sources(fattn PRIVATE $<TARGET_OBJECTS:${layer}>)
endforeach()
set_target_properties(fattn PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX
  INSTALL_RPATH_USE_LINK_PATH ON  # LLVM's folder is not among the linker's own
  LINK_DEPENDS ${map})
target_link_libraries(fattn PRIVATE $<BUILD_INTERFACE:${FATTN_PUBLIC_LAYERS}> $<BUILD_INTERFACE:fattn_options>)
# Worker threads run code of this library until the process ends, so that it cannot be unloaded before.
target_link_options(fattn PRIVATE -Wl,--version-script=${map} -Wl,-z,nodelete)
if(NOT FATTN_SANITIZE)  # a sanitizer's own functions are in the program, not in the library
  target_link_options(fattn PRIVATE -Wl,-z,defs)
endif()
target_compile_features(fattn PUBLIC cxx_std_23)

foreach(folder runtime/base runtime kernels dsl)
  list(APPEND roots ${CMAKE_SOURCE_DIR}/${folder}/include)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/include/*.h)
  list(APPEND public_headers ${headers})
endforeach()
set(c_header ${CMAKE_SOURCE_DIR}/kernels/include/fattn/c_api.h)
list(REMOVE_ITEM public_headers ${c_header})
target_sources(fattn PUBLIC FILE_SET HEADERS BASE_DIRS ${roots} FILES ${public_headers})

# libfattn_c.so: fattn/c_api.h. With LLVM linked in it is one self-contained file that shows nothing but its C functions, and so can be
# loaded beside another LLVM. With a shared LLVM it is a thin layer over libfattn.so, because then MLIR needs names to be exported (above).
set(c_map ${CMAKE_SOURCE_DIR}/scripts/cmake/fattn_c.map)
add_library(fattn_c SHARED $<TARGET_OBJECTS:fattn_capi> $<TARGET_OBJECTS:fattn_config_json> $<TARGET_OBJECTS:fattn_template_json>)
add_library(fattn::fattn_c ALIAS fattn_c)
set_target_properties(fattn_c PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX INSTALL_RPATH $ORIGIN LINK_DEPENDS ${c_map})
if(FATTN_STATIC_LLVM)
  target_link_libraries(fattn_c PRIVATE $<BUILD_INTERFACE:fattn_kernels> $<BUILD_INTERFACE:fattn_options>)
else()
  target_link_libraries(fattn_c PRIVATE fattn $<BUILD_INTERFACE:fattn_options>)
endif()
target_link_options(fattn_c PRIVATE -Wl,--version-script=${c_map} -Wl,-z,nodelete -Wl,-z,defs)
target_sources(fattn_c PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/kernels/include FILES ${c_header})

install(TARGETS fattn fattn_c EXPORT fattn-targets FILE_SET HEADERS)
install(EXPORT fattn-targets NAMESPACE fattn:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fattn)
configure_package_config_file(scripts/cmake/fattn-config.cmake.in ${CMAKE_BINARY_DIR}/fattn-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fattn)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/fattn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/fattn-config.cmake ${CMAKE_BINARY_DIR}/fattn-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fattn)

# For builds without CMake: pkg-config, which finds the rest from where its file is.
file(RELATIVE_PATH FATTN_PC_UP /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(name fattn fattn_c)
  configure_file(scripts/cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES tools/peers/fattn_c.py DESTINATION ${CMAKE_INSTALL_DATADIR}/fattn/python)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
