// SPDX-License-Identifier: Apache-2.0
// Addresses that differ from another by a constant are computed where they are used:
//
//   preheader:  %a = getelementptr i8, ptr addrspace(3) %base, i32 1024          loop:  ldmatrix [%base + 1024]
//   loop:       ldmatrix [%a]                                              =>
//
// and where something that changes is added behind the constant, the constant is added last:
//
//   preheader:  %a = gep %base, 1024     loop:  %b = gep %a, %slot          =>          loop:  %b = gep %base, %slot     [%b + 1024]
//
// LLVM moves what does not change out of loops, and instruction selection looks at one block at a time: each constant would take a register
// for the whole loop instead of a place in the instruction. LLVM's own remedy (CodeGenPrepare) knows loads and stores, but not NVVM's
// intrinsics. Test: tests/lit/nvidia/addresses.mlir.
#include "compiler/emit/SinkAddresses.h"

#include <map>
#include <tuple>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace fattn::emit {
namespace {

/// base + constant from another block, where the user stands.
llvm::GetElementPtrInst* constantOffsetElsewhere(llvm::Value* operand, const llvm::BasicBlock* block) {
  auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(operand);
  if (!address || address->getParent() == block || !address->hasAllConstantIndices()) return nullptr;
  return address;
}

class Sinking {
 public:
  explicit Sinking(llvm::BasicBlock& block) : block_(block) {}

  void run() {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block_)) {
      if (llvm::isa<llvm::PHINode>(instruction)) continue;
      if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction); address && !address->hasAllConstantIndices())
        addLater(*address);
      else
        copyOperands(instruction);
    }
  }

 private:
  void copyOperands(llvm::Instruction& user) {
    for (llvm::Use& use : user.operands()) {
      auto* address = constantOffsetElsewhere(use.get(), &block_);
      if (!address) continue;
      llvm::Instruction*& copy = copies_[address];
      if (!copy) {
        copy = address->clone();
        copy->insertBefore(user.getIterator());
      }
      use.set(copy);
    }
  }

  /// (base + constant) + what changes  ->  (base + what changes) + constant
  void addLater(llvm::GetElementPtrInst& address) {
    auto* inner = constantOffsetElsewhere(address.getPointerOperand(), &block_);
    if (!inner || address.getNumIndices() != 1) return;
    const llvm::DataLayout& layout = block_.getModule()->getDataLayout();
    llvm::APInt offset(layout.getIndexTypeSizeInBits(inner->getType()), 0);
    if (!inner->accumulateConstantOffset(layout, offset)) return;
    llvm::IRBuilder<> builder(&address);
    llvm::Value* index = address.idx_begin()->get();
    llvm::Value*& moved = moved_[{inner->getPointerOperand(), index, address.getSourceElementType()}];
    if (!moved) moved = builder.CreateGEP(address.getSourceElementType(), inner->getPointerOperand(), index);
    llvm::Value* result = builder.CreateGEP(builder.getInt8Ty(), moved, builder.getInt(offset));
    address.replaceAllUsesWith(result);
    address.eraseFromParent();
  }

  llvm::BasicBlock& block_;
  llvm::DenseMap<llvm::Value*, llvm::Instruction*> copies_;
  std::map<std::tuple<llvm::Value*, llvm::Value*, llvm::Type*>, llvm::Value*> moved_;
};

}  // namespace

void sinkAddresses(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) Sinking(block).run();
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block))
        if (llvm::isa<llvm::GetElementPtrInst>(instruction) && instruction.use_empty()) instruction.eraseFromParent();
  }
}

}  // namespace fattn::emit
