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

#define GEN_PASS_DEF_ORDERREGISTERSPASS
#include "compiler/nvidia/Passes.h.inc"

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

class OrderRegistersPass : public impl::OrderRegistersPassBase<OrderRegistersPass> {
 public:
  void runOnOperation() override { gpu::orderRegisters(getOperation(), Facts()); }
};

}  // namespace

}  // namespace fattn::nvidia
