// SPDX-License-Identifier: Apache-2.0
// Of the build with LLVM linked in: what lld refers to and never calls here, so that its archives need not be linked. lld initializes every
// back end that LLVM was built with, and its link-time optimizer asks for the passes of Polly. The only inputs are objects for AMD's chips,
// of which nothing is optimized at link time.
#include "llvm/Plugins/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {.APIVersion = LLVM_PLUGIN_API_VERSION,
          .PluginName = "none",
          .PluginVersion = LLVM_VERSION_STRING,
          .RegisterPassBuilderCallbacks = [](llvm::PassBuilder&) {}};
}

#define FATTN_LEFT_OUT(target)                   \
  extern "C" {                                   \
  void LLVMInitialize##target##TargetInfo() {}   \
  void LLVMInitialize##target##Target() {}       \
  void LLVMInitialize##target##TargetMC() {}     \
  void LLVMInitialize##target##AsmPrinter() {}   \
  void LLVMInitialize##target##AsmParser() {}    \
  void LLVMInitialize##target##Disassembler() {} \
  }
#include "LeftOutTargets.def"  // of the build folder: FATTN_LEFT_OUT(...) for each target that is not linked
