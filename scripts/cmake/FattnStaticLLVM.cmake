# SPDX-License-Identifier: Apache-2.0
# Links LLVM and MLIR from their archives (FATTN_STATIC_LLVM=ON): the tools then need nothing of LLVM at run time, nor a libstdc++.
#
# Debian exports the MLIR archives with the LLVM shared library in their link interface. Linked like that a program holds two copies
# of LLVM, each registering the same command line options, and aborts at start. So the name LLVM is taken out of every imported
# target's interface and the component archives are put in its place; LLVM's own archives get the archives of zlib and zstd.

set(FATTN_LLVM_COMPONENTS
  X86 NVPTX AMDGPU          # the back ends, whole: code generator, assembler parser and printer
  OrcJIT JITLink            # running what was compiled for the host
  Passes IPO Vectorize ScalarOpts InstCombine Instrumentation TransformUtils Analysis Target
  AsmParser AsmPrinter BinaryFormat BitReader BitWriter IRReader Linker CodeGen DebugInfoDWARF DTLTO LTO MC Object Option Core Support TargetParser)

set(FATTN_MLIR_LIBRARIES
  # dialects
  MLIRArithDialect MLIRControlFlowDialect MLIRDLTIDialect MLIRFuncDialect MLIRGPUDialect MLIRIndexDialect MLIRLLVMDialect MLIRMathDialect
  MLIRMemRefDialect MLIRNVVMDialect MLIRROCDLDialect MLIRSCFDialect MLIRTensorDialect MLIRUBDialect MLIRVectorDialect MLIRX86VectorDialect
  MLIRAMXDialect
  # passes and conversions
  MLIRTransforms MLIRTransformUtils MLIRArithTransforms MLIRFuncTransforms MLIRLLVMIRTransforms MLIRMathTransforms MLIRMemRefTransforms
  MLIRSCFTransforms MLIRSCFUtils MLIRVectorTransforms MLIRVectorUtils MLIRX86VectorTransforms MLIRAMXTransforms MLIRArithToLLVM
  MLIRControlFlowToLLVM MLIRConvertToLLVMPass MLIRFuncToLLVM MLIRIndexToLLVM MLIRMathToLLVM MLIRMathToLibm MLIRMathToROCDL
  MLIRMemRefToLLVM MLIRNVVMToLLVM MLIRReconcileUnrealizedCasts MLIRSCFToControlFlow MLIRUBToLLVM MLIRVectorToLLVM MLIRVectorToLLVMPass
  MLIRVectorToSCF
  # text and bytecode, the opt driver, LLVM IR
  MLIRParser MLIRBytecodeWriter MLIROptLib MLIRTargetLLVMIRExport MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation
  MLIRNVVMToLLVMIRTranslation MLIRROCDLToLLVMIRTranslation MLIRGPUToLLVMIRTranslation)

llvm_map_components_to_libnames(FATTN_LLVM_ARCHIVES ${FATTN_LLVM_COMPONENTS})
add_library(fattn_llvm_archives INTERFACE)
target_link_libraries(fattn_llvm_archives INTERFACE ${FATTN_LLVM_ARCHIVES})

find_library(FATTN_ZLIB_ARCHIVE libz.a REQUIRED)
find_library(FATTN_ZSTD_ARCHIVE libzstd.a REQUIRED)

# Replaces what must not be linked in the link interface of an imported target.
function(fattn_relink target)
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  if(NOT libraries)
    return()
  endif()
  set(result "")
  foreach(library IN LISTS libraries)
    if(library STREQUAL "LLVM")
      list(APPEND result fattn_llvm_archives)
    elseif(library STREQUAL "ZLIB::ZLIB")
      list(APPEND result ${FATTN_ZLIB_ARCHIVE})
    elseif(library MATCHES "^zstd::")
      list(APPEND result ${FATTN_ZSTD_ARCHIVE})
    elseif(NOT library MATCHES "libz3|^Polly$")  # a static analyzer's solver, which nothing here calls; see compiler/emit/LeftOut.cpp
      list(APPEND result ${library})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${result}")
endfunction()

get_property(FATTN_IMPORTED_TARGETS DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target IN LISTS FATTN_IMPORTED_TARGETS)
  if(target MATCHES "^(MLIR|LLVM)." AND NOT target MATCHES "^(MLIR|LLVM)$")
    fattn_relink(${target})
  endif()
endforeach()

target_link_libraries(fattn_mlir INTERFACE ${FATTN_MLIR_LIBRARIES} fattn_llvm_archives)

# lld links these archives in seconds; the section flags and the strip leave out what no tool reaches.
find_program(FATTN_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
get_filename_component(FATTN_LLD_DIRECTORY ${FATTN_LLD} DIRECTORY)
add_link_options(-B${FATTN_LLD_DIRECTORY} -fuse-ld=lld -static-libstdc++ -static-libgcc -Wl,--gc-sections,--as-needed)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_link_options(-s)
endif()
