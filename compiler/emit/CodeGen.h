// SPDX-License-Identifier: Apache-2.0
// What all code generators share: the way through LLVM's passes and out as text or bytes.
#ifndef FATTN_COMPILER_EMIT_CODEGEN_H
#define FATTN_COMPILER_EMIT_CODEGEN_H

#include <memory>
#include <string>

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"

namespace fattn::emit {

/// Translates to LLVM IR and sets the machine's triple and data layout. The dialects' translations must be registered.
/// Throws Error{Internal}.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp source, llvm::LLVMContext& context, const llvm::TargetMachine& machine);

/// Runs a textual pass pipeline ("default<O2>", "function(instcombine)" ...).
void optimize(llvm::Module& module, llvm::TargetMachine& machine, llvm::StringRef pipeline);

/// Throws Error{Internal} if the machine cannot write this type of file. The module is consumed.
/// `leftOut` names passes ("machine-sink") that the machine's own list has and this call leaves out; `fenceColdBlocks` is for machines
/// whose last scheduler takes long (ColdBlocks.h).
std::string generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                     llvm::ArrayRef<llvm::StringRef> leftOut = {}, bool fenceColdBlocks = false);

}  // namespace fattn::emit

#endif
