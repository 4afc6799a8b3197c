// SPDX-License-Identifier: Apache-2.0
// PTX text for one NVIDIA chip.
#ifndef FATTN_COMPILER_EMIT_PTXCODE_H
#define FATTN_COMPILER_EMIT_PTXCODE_H

#include <span>
#include <string>

#include "mlir/IR/BuiltinOps.h"

namespace fattn::emit {

/// A chip the PTX back end generates code for, and the oldest PTX version that has all its instructions but mma of 8-bit floating-point
/// numbers (8.4, where a kernel has one): an older driver can still load it (PTX ISA, "Release Notes"; 8.6 for sm_90a because CTA-local
/// bulk tensor copies came with it).
struct PtxChip {
  const char* name;
  int version;          ///< 86 is PTX 8.6
  const char* toolkit;  ///< the first CUDA release whose driver assembles that version
};

/// sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_120, sm_120a.
std::span<const PtxChip> ptxChips();
/// Throws Error{InvalidArgument} listing the legal names.
const PtxChip& ptxChip(const std::string& name);

/// Optimizes a module of the LLVM and NVVM dialects, and writes it as PTX. Functions with the attribute nvvm.kernel become entries.
/// `llvmIR`, where given, becomes the optimized module's text. Throws Error{Internal} if LLVM rejects the module.
std::string emitPtx(mlir::ModuleOp module, const std::string& chip, std::string* llvmIR = nullptr);

}  // namespace fattn::emit

#endif
