// SPDX-License-Identifier: Apache-2.0
// Host code: what processor there is, and LLVM IR to a relocatable object for it.
#ifndef FATTN_COMPILER_EMIT_HOSTCODE_H
#define FATTN_COMPILER_EMIT_HOSTCODE_H

#include <string>

#include "compiler/cpu/HostTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace fattn::emit {

/// The machine table of "host" (this processor) or of a named level: "host:sse2", "host:avx2", "host:avx512", "host:avx512bf16" (code for
/// that level whatever this processor can do). Throws Error{InvalidArgument} for any other name.
cpu::HostTarget hostTarget(const std::string& name);

struct HostCode {
  std::string llvmIR;    ///< after optimization; only if asked for
  std::string assembly;  ///< only if asked for
  std::string object;
};

/// Optimizes and assembles a module of the LLVM dialect. Throws Error{Internal} if LLVM rejects it.
HostCode emitHostCode(mlir::ModuleOp module, const cpu::HostTarget& target, bool wantText);

}  // namespace fattn::emit

#endif
