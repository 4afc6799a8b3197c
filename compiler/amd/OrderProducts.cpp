// SPDX-License-Identifier: Apache-2.0
// Keeps the matrix unit fed. CDNA's works beside the vector ALU, RDNA's keeps it busy:
//
//   llvm.load (LDS) ...                          llvm.load (LDS) ...
//   vector instructions ...                      vector instructions ...
//   llvm.call_intrinsic "llvm.amdgcn.mfma..."    llvm.call_intrinsic "llvm.amdgcn.mfma..."
//   rocdl.exp2 ...                          =>   rocdl.sched.group.barrier ... (the order of these), rocdl.sched.barrier
//   llvm.fence                                   rocdl.s.setprio 0; rocdl.exp2 ...; rocdl.s.setprio 1
//                                                llvm.fence
//
// - LLVM's scheduler puts a read of LDS right before the product that uses it, or all reads before the first product, for which it then
//   lacks registers. A run of products gets an order instead: reads as far ahead as LDS takes, and what vector instructions the run has
//   spread evenly beneath its products (ProductRun.cpp), in whose time they cost nothing on CDNA. A run ends before what orders memory
//   between waves, stores, or computes exponentials.
// - Exponentials are what a wave does between its products, at a quarter of the ALU's rate. Meanwhile it gives way: with equal priorities
//   the waves of a SIMD meet in their exponentials, and the matrix unit has nothing to do until they are through.
// - A wave whose products have begun goes before one whose have not. With equal priorities the older wave goes first: it overtakes the
//   younger one in the middle of its products, and later both compute exponentials at once.
//
// No result changes.
// Sources: "AMD Instinct MI300 Instruction Set Architecture", S_SETPRIO; LLVM, "User Guide for AMDGPU Backend",
// llvm.amdgcn.sched.group.barrier. Test: tests/lit/amd/order-products.mlir.
#include "compiler/amd/Passes.h"
#include "compiler/amd/ProductRun.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;

namespace fattn::amd {

#define GEN_PASS_DEF_ORDERPRODUCTSPASS
#include "compiler/amd/Passes.h.inc"

namespace {

constexpr uint16_t kGivingWay = 0, kUsual = 1, kHoldingOn = 2;  // of 0 to 3

/// What a run of products does not reach across.
bool isBoundary(Operation& op) {
  return isa<LLVM::FenceOp, LLVM::StoreOp, ROCDL::BarrierOp, ROCDL::SBarrierOp, ROCDL::SWaitcntOp, ROCDL::ROCDLExp2>(op);
}

SmallVector<Run> runsOf(Block& block) {
  SmallVector<Run> runs;
  Operation* begin = &block.front();
  bool isOpen = false;
  for (Operation& op : block) {
    if (isBoundary(op)) isOpen = false, begin = op.getNextNode();
    if (!isProduct(op)) continue;
    if (!isOpen) runs.push_back({begin, &op, &op});
    runs.back().last = &op;
    isOpen = true;
  }
  return runs;
}

/// A wave gives way from the product before its exponentials to what orders memory or asks other lanes behind them. Whether it does so in
/// this block.
bool giveWay(Block& block) {
  bool found = false;
  auto isEnd = [](Operation& op) {
    return op.hasTrait<OpTrait::IsTerminator>() || isa<ROCDL::BallotOp>(op) || loadsShared(op) ||
           (isBoundary(op) && !isa<ROCDL::ROCDLExp2>(op));
  };
  Operation *begin = &block.front(), *exponential = nullptr;
  for (Operation& op : llvm::make_early_inc_range(block)) {
    if (isa<ROCDL::ROCDLExp2>(op) && !exponential) exponential = &op;
    if (exponential && isEnd(op)) {
      OpBuilder b(begin);
      ROCDL::SetPrioOp::create(b, exponential->getLoc(), kGivingWay);
      b.setInsertionPoint(&op);
      ROCDL::SetPrioOp::create(b, exponential->getLoc(), kUsual);
      exponential = nullptr;
      found = true;
    }
    if (isProduct(op) || isEnd(op) || isa<ROCDL::SchedBarrier>(op)) begin = op.getNextNode();
  }
  return found;
}

/// Behind a run of products that exponentials do not follow at once, more products do: the wave goes on before those whose first product is
/// to come.
void holdOn(Block& block) {
  for (const Run& run : runsOf(block)) {
    Operation* behind = run.last->getNextNode();
    while (behind && !isBoundary(*behind) && !isa<ROCDL::SetPrioOp>(behind)) behind = behind->getNextNode();
    if (behind && isa<ROCDL::ROCDLExp2, ROCDL::SetPrioOp>(behind)) continue;
    Operation* order = run.last;
    while (order->getNextNode() && isa<ROCDL::SchedGroupBarrier, ROCDL::SchedBarrier>(order->getNextNode())) order = order->getNextNode();
    OpBuilder b(run.last->getContext());
    b.setInsertionPointAfter(order);
    ROCDL::SetPrioOp::create(b, run.last->getLoc(), kHoldingOn);
  }
}

struct OrderProductsPass : impl::OrderProductsPassBase<OrderProductsPass> {
  using OrderProductsPassBase::OrderProductsPassBase;
  void runOnOperation() override {
    bool multiplies = false;
    for (Block& block : getOperation().getBody())
      for (const Run& run : runsOf(block)) multiplies = true, ProductOrder(run, atOnce).emit();
    if (!multiplies) return;
    bool givesWay = false;
    for (Block& block : getOperation().getBody()) givesWay |= giveWay(block);
    if (!givesWay) return;
    for (Block& block : getOperation().getBody()) holdOn(block);
  }
};

}  // namespace

}  // namespace fattn::amd
