// SPDX-License-Identifier: Apache-2.0
// Addresses that differ from another by a constant are computed where they are used:
//
//   preheader:  %a = getelementptr i8, ptr addrspace(3) %base, i32 1024          loop:  ldmatrix [%base + 1024]
//   loop:       ldmatrix [%a]                                              =>
//
// LLVM moves what does not change out of loops, and instruction selection looks at one block at a time: each constant would take a register for
// the whole loop instead of a place in the instruction. LLVM's own remedy (CodeGenPrepare) knows loads and stores, but not NVVM's
// intrinsics. Test: tests/lit/nvidia/addresses.mlir.
#include "compiler/emit/SinkAddresses.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace fattn::emit {
namespace {

/// base + constant from another block, where the user stands.
llvm::GetElementPtrInst* constantOffsetElsewhere(llvm::Value* operand, const llvm::BasicBlock* block) {
  auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(operand);
  if (!address || address->getParent() == block || !address->hasAllConstantIndices()) return nullptr;
  return address;
}

void sinkInto(llvm::BasicBlock& block) {
  llvm::DenseMap<llvm::Value*, llvm::Instruction*> copies;
  for (llvm::Instruction& user : block) {
    if (llvm::isa<llvm::PHINode>(user)) continue;
    for (llvm::Use& use : user.operands()) {
      auto* address = constantOffsetElsewhere(use.get(), &block);
      if (!address) continue;
      llvm::Instruction*& copy = copies[address];
      if (!copy) {
        copy = address->clone();
        copy->insertBefore(user.getIterator());
      }
      use.set(copy);
    }
  }
}

}  // namespace

void sinkAddresses(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) sinkInto(block);
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block))
        if (llvm::isa<llvm::GetElementPtrInst>(instruction) && instruction.use_empty()) instruction.eraseFromParent();
  }
}

}  // namespace fattn::emit
