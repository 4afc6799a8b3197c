// SPDX-License-Identifier: Apache-2.0
// The pass around gpu::orderRegisters() with NVIDIA's instructions: `-nvidia-order-registers`.
//
// Test: tests/lit/nvidia/order-registers.mlir.
#include "compiler/gpu/lower/OrderRegisters.h"

#include "compiler/nvidia/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace fattn::nvidia {
namespace {

class Facts final : public gpu::RegisterFacts {
 public:
  bool isPure(Operation* intrinsic) const override {
    StringRef name = cast<LLVM::CallIntrinsicOp>(intrinsic).getIntrin();
    if (!name.consume_front("llvm.nvvm.")) return false;
    return llvm::any_of(ArrayRef<StringRef>{"ex2.", "lg2.", "ff2bf16x2.", "ff2f16x2.", "tanh.", "rcp.", "sqrt.", "rsqrt."},
                        [&](StringRef known) { return name.starts_with(known); });
  }
  bool isConversion(Operation* op) const override {
    auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
    return assembly && assembly.getAsmString().starts_with("cvt.") && assembly->getNumResults() == 1;
  }
  bool isMatrixWait(Operation* op) const override {
    auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
    return assembly && assembly.getAsmString().starts_with("wgmma.wait_group");
  }
};

class OrderRegistersPass : public PassWrapper<OrderRegistersPass, OperationPass<func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderRegistersPass)
  StringRef getArgument() const override { return "nvidia-order-registers"; }
  StringRef getDescription() const override { return "Order arithmetic so that few registers are alive at once"; }
  void runOnOperation() override { gpu::orderRegisters(getOperation(), Facts()); }
};

}  // namespace

std::unique_ptr<Pass> createOrderRegistersPass() { return std::make_unique<OrderRegistersPass>(); }

}  // namespace fattn::nvidia
