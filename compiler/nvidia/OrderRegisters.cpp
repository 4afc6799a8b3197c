// SPDX-License-Identifier: Apache-2.0
// The pass around gpu::orderRegisters() with NVIDIA's instructions: `-nvidia-order-registers`.
//
// Test: tests/lit/nvidia/order-registers.mlir.
#include "compiler/gpu/lower/OrderRegisters.h"

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/lower/SinkWaits.h"
#include "compiler/nvidia/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
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
  /// Beginnings of matrix instructions, and barriers; waits for the former are a warp's own.
  bool needsOtherWarps(Operation* op) const override {
    if (isa<NVVM::BarrierOp>(op)) return true;
    if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op)) return call.getIntrin().starts_with("llvm.nvvm.barrier.");
    auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
    StringRef text = assembly ? assembly.getAsmString() : StringRef();
    return text.contains("wgmma.mma_async") || text.starts_with("bar.") || text.starts_with("barrier.");
  }

  bool isVote(Operation* op) const override { return isa<NVVM::VoteSyncOp, LLVM::ExpectOp>(op); }

  /// Packed elements of a first operand; the other words that the instructions take are descriptors of shared memory.
  int64_t readInFlight(Operation* matrixWait) const override {
    auto part = matrixWait->getNumOperands() ? matrixWait->getOperand(0).getDefiningOp<LLVM::ExtractValueOp>() : LLVM::ExtractValueOp();
    auto dots = part ? part.getContainer().getDefiningOp<LLVM::InlineAsmOp>() : LLVM::InlineAsmOp();
    if (!dots) return 0;
    constexpr int64_t kDescriptors = 2;
    const int64_t words = llvm::count_if(dots.getOperandTypes(), [](Type type) { return type.isInteger(32); });
    return words > kDescriptors ? words - 1 : 0;
  }

  int64_t registersOfThread(Operation* at) const override {
    constexpr int64_t kOfMultiprocessor = 65536, kMost = 255, kLanes = 32;
    auto function = at->getParentOfType<func::FuncOp>();
    int64_t registers = std::min(kMost, kOfMultiprocessor / (kLanes * tilegpu::warpsOf(function)));
    function.walk([&](NVVM::SetMaxRegisterOp set) {
      if (set->getParentRegion()->isAncestor(at->getParentRegion())) registers = set.getRegCount();
    });
    return registers;
  }
};

class OrderRegistersPass : public impl::OrderRegistersPassBase<OrderRegistersPass> {
 public:
  void runOnOperation() override {
    gpu::sinkWaits(getOperation(), Facts());
    gpu::orderRegisters(getOperation(), Facts());
  }
};

}  // namespace

}  // namespace fattn::nvidia
