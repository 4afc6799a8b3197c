// SPDX-License-Identifier: Apache-2.0
// Code objects (HSACO) for one AMD chip: ELF shared objects as AMD's runtime loads them.
#ifndef FATTN_COMPILER_EMIT_HSACOCODE_H
#define FATTN_COMPILER_EMIT_HSACOCODE_H

#include <cstdint>
#include <string>

#include "mlir/IR/BuiltinOps.h"

namespace fattn::emit {

struct HsacoCode {
  std::string llvmIR;      ///< after optimization; only if asked for
  std::string assembly;    ///< only if asked for
  std::string codeObject;  ///< exports NAME and its descriptor NAME.kd for each kernel
  // Of the kernel `entry`, as the code object's metadata say.
  int vectorRegisters = 0;       ///< of a lane, with those for accumulation
  int scalarRegisters = 0;       ///< of a wave
  std::int64_t sharedBytes = 0;  ///< of a workgroup
  std::int64_t spillBytes = 0;   ///< memory of a lane that registers are stored to
};

/// Optimizes a module of the LLVM and ROCDL dialects, generates code for the chip ("gfx942") and links it in this process; nothing of AMD's
/// takes part. Functions with the attribute rocdl.kernel become kernels. Any thread may call it; the link is made by one at a time.
/// Throws Error{CompileError} where LLVM finds that a kernel takes more than the chip has, Error{Internal} if it rejects the module, and
/// Error{Unsupported} where this LLVM has no AMDGPU code generator.
HsacoCode emitHsaco(mlir::ModuleOp module, const std::string& chip, const std::string& entry, bool wantText);

}  // namespace fattn::emit

#endif
