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
//   spread evenly beneath its products, in whose time they cost nothing on CDNA. A run ends before what orders memory between waves,
//   stores, or computes exponentials.
// - Exponentials are what a wave does between its products, at a quarter of the ALU's rate. Meanwhile it gives way: with equal priorities
//   the waves of a SIMD meet in their exponentials, and the matrix unit has nothing to do until they are through.
// - A wave whose products have begun goes before one whose have not. With equal priorities the older wave goes first: it overtakes the
//   younger one in the middle of its products, and later both compute exponentials at once.
//
// No result changes.
// Sources: "AMD Instinct MI300 Instruction Set Architecture", S_SETPRIO; LLVM, "User Guide for AMDGPU Backend",
// llvm.amdgcn.sched.group.barrier. Test: tests/lit/amd/order-products.mlir.
#include "compiler/amd/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;

namespace fattn::amd {

#define GEN_PASS_DEF_ORDERPRODUCTSPASS
#include "compiler/amd/Passes.h.inc"

namespace {

constexpr uint16_t kGivingWay = 0, kUsual = 1, kHoldingOn = 2;  // of 0 to 3

/// Kinds of instructions as SchedGroupBarrier numbers them.
enum Kind : uint32_t { Vector = 0x2, Matrix = 0x8, SharedRead = 0x100 };

StringRef intrinsicOf(Operation& op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return call ? call.getIntrin() : StringRef();
}
bool isMfma(Operation& op) { return intrinsicOf(op).starts_with("llvm.amdgcn.mfma"); }
bool isProduct(Operation& op) { return isMfma(op) || intrinsicOf(op).starts_with("llvm.amdgcn.wmma"); }

bool loadsShared(Operation& op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  return load && load.getAddr().getType().getAddressSpace() == ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
}

/// What a run of products does not reach across.
bool isBoundary(Operation& op) {
  return isa<LLVM::FenceOp, LLVM::StoreOp, ROCDL::BarrierOp, ROCDL::SBarrierOp, ROCDL::SWaitcntOp, ROCDL::ROCDLExp2>(op);
}

/// Whether it becomes about one vector instruction: a mask and a shift are one with what uses them, a sum of three one with the sum of two.
bool isVector(Operation& op) {
  if (isa<LLVM::AddOp>(op)) return llvm::none_of(op.getUsers(), [](Operation* user) { return isa<LLVM::AddOp>(user); });
  return isa<LLVM::AndOp, LLVM::SelectOp, LLVM::FAddOp, LLVM::FMAOp, LLVM::FMulOp, LLVM::FPTruncOp>(op) ||
         (!intrinsicOf(op).empty() && !isProduct(op) && op.getNumResults() == 1);
}

/// A SIMD's clocks for a product. MFMA: 32 rows and columns take 16 registers of a lane for their sums, 16 take 4. WMMA: gfx11's operands
/// have 16 elements, gfx12's products are twice as fast.
int64_t clocksOf(Operation& product) {
  auto elementsOf = [](Value value) { return cast<VectorType>(value.getType()).getNumElements(); };
  const bool isSlow = isMfma(product) ? elementsOf(product.getResult(0)) == 16 : elementsOf(product.getOperand(0)) == 16;
  return isSlow ? 32 : 16;
}

/// Clocks from a read of LDS to its data while the other SIMDs read as well: 64 or 80, and the turns of some 16-byte reads of four SIMDs,
/// at 128 bytes a clock on CDNA and twice as many of RDNA's two compute units together. An assumption: no chip was at hand.
int64_t readClocksOf(Operation& product) { return isMfma(product) ? 256 : 128; }

/// Products and what stands between them; `begin` is the first operation behind the boundary before.
struct Run {
  Operation *begin, *first, *last;
};

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

class Order {
 public:
  explicit Order(const Run& run) : run_(run), b_(run.last->getContext()) {
    for (Operation* op = run.begin; op != run.last->getNextNode(); op = op->getNextNode()) {
      reads_ += loadsShared(*op);
      vectors_ += isVector(*op);
      if (isProduct(*op)) need(op), needed_.push_back(vectorsNeeded_);
    }
    b_.setInsertionPointAfter(run.last);
  }

  void emit() {
    const auto products = static_cast<int64_t>(needed_.size());
    const int64_t ahead = std::min(reads_, llvm::divideCeilSigned(readClocksOf(*run_.first) * reads_, products * clocksOf(*run_.first)));
    int64_t read = ahead, worked = needed_.front();
    group(SharedRead, read);
    group(Vector, worked);
    for (int64_t i = 1; i <= products; ++i) {
      group(Matrix, 1);
      group(SharedRead, advance(read, std::min(reads_, ahead + reads_ * i / products)));
      group(Vector, advance(worked, std::max(worked, vectorsBehind(i))));
    }
    ROCDL::SchedBarrier::create(b_, run_.last->getLoc(), 0);
  }

 private:
  static int64_t advance(int64_t& done, int64_t to) { return to - std::exchange(done, to); }

  void group(Kind kind, int64_t size) {
    if (size > 0) ROCDL::SchedGroupBarrier::create(b_, run_.last->getLoc(), kind, static_cast<uint32_t>(size), 0);
  }

  /// Counts the vector instructions of the run that an operation needs and no other needed before.
  void need(Operation* op) {
    SmallVector<Operation*> work = {op};
    while (!work.empty())
      for (Value operand : work.pop_back_val()->getOperands()) {
        Operation* def = operand.getDefiningOp();
        bool isOfRun = def && def->getBlock() == run_.begin->getBlock() && !def->isBeforeInBlock(run_.begin);
        if (!isOfRun || !seen_.insert(def).second) continue;
        vectorsNeeded_ += isVector(*def);
        work.push_back(def);
      }
  }

  /// How many vector instructions are to be done behind i products: evenly from where a product needed more to where the next one does.
  int64_t vectorsBehind(int64_t i) const {
    const auto products = static_cast<int64_t>(needed_.size());
    int64_t from = i - 1, to = i;
    while (from > 0 && needed_[from - 1] == needed_[from]) --from;
    while (to < products && needed_[to] == needed_[from]) ++to;
    const int64_t more = (to < products ? needed_[to] : vectors_) - needed_[from];
    return needed_[from] + llvm::divideCeilSigned(more * (i - from), to - from);
  }

  Run run_;
  OpBuilder b_;
  int64_t reads_ = 0, vectors_ = 0, vectorsNeeded_ = 0;
  llvm::SmallPtrSet<Operation*, 32> seen_;
  SmallVector<int64_t> needed_;  ///< vector instructions, by each product and those before it
};

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
  void runOnOperation() override {
    bool multiplies = false;
    for (Block& block : getOperation().getBody())
      for (const Run& run : runsOf(block)) multiplies = true, Order(run).emit();
    if (!multiplies) return;
    bool givesWay = false;
    for (Block& block : getOperation().getBody()) givesWay |= giveWay(block);
    if (!givesWay) return;
    for (Block& block : getOperation().getBody()) holdOn(block);
  }
};

}  // namespace

}  // namespace fattn::amd
