// SPDX-License-Identifier: Apache-2.0
// Gives each result that a loop adds to memory one warp group, the groups in turn:
//
//   store_buffer %x, %b[%s]                                   slot_acquire %b[%s]
//   %d = dot_async %b[%t], %k[0], 0 {tilegpu.owned}           store_buffer %x, %b[%s]
//   %e = dot_wait %d                                  =>      slot_commit %b[%s]
//   tile.accumulate %p, %e                                    owner_only %t {
//                                                               slot_wait %b[%t]
//                                                               %d = dot_async %b[%t], %k[0], 0
//                                                               %e = dot_wait %d
//                                                               tile.accumulate %p, %e
//                                                               release %b[%t]
//                                                             }
//
// The tiles of the region lie in the registers of one group: what the groups had side by side, it has one after the other. The number of
// the slot is the owner's turn, as there is a slot for each group. The buffer is handed over by its slots' barrier objects, and needs no
// barrier of the block.
//
// Where registers do not suffice for what the owner computes beside operands of dots in flight, these end before (`drained`).
//
// An owner waits until the addition of the owner before has been taken from shared memory. A barrier object tells a phase from the next one
// only, so that it needs to know that the owner before has begun its own addition: the release behind that says so to who acquires the slot
// next. With a slot for each of G groups, each region that comes G - 1 trips behind its trip has such an acquire in front of it. One in its
// own trip needs none: what it waits for the others have committed behind the region before. In front of any other region, as behind a
// loop, the groups meet (`met`).
//
// The region stands where the addition does. A release of a buffer that the dot reads comes behind it.
//
// Conditions, else an error: C1 the buffer is read by such dots alone; C2 the results are only added to memory (OwnedDots.h), in the dots'
// own block.
//
// Assumption: A1 the number of a slot that a loop carries goes round by one in each trip (-tilegpu-schedule-loops).
//
// Runs before -tilegpu-store-boxes and -tilegpu-place-waits. Test: tests/lit/gpu/owners.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/GroupLayouts.h"
#include "compiler/gpu/passes/roles/OwnedDots.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "fattn/Error.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_ASSIGNOWNERSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

class OwnerAssigner {
 public:
  explicit OwnerAssigner(AllocOp alloc) : alloc_(alloc), group_(*targetOf(alloc).warpGroup) {}

  void run() {
    collect();
    for (StoreBufferOp store : stores_) handOver(store);
    for (DotAsyncOp dot : dots_) give(dot);
  }

 private:
  /// C1 and C2.
  void collect() {
    for (Operation* user : alloc_->getUsers()) {
      auto store = dyn_cast<StoreBufferOp>(user);
      auto dot = dyn_cast<DotAsyncOp>(user);
      if (store)
        stores_.push_back(store);
      else if (dot && dot->hasAttr(kOwnedAttr) && dot.getA() == alloc_.getResult() && onlyAdded(dot.getResult()))
        dots_.push_back(dot);
      else
        throw Error(ErrorCode::Unsupported,
                    "an order with owners needs products that the matrix unit computes, and whose results are added to memory beside them",
                    "leave `owners` out of the order, or let the addition follow its product in the same trip");
    }
  }

  static void handOver(StoreBufferOp store) {
    OpBuilder b(store);
    SlotAcquireOp::create(b, store.getLoc(), store.getBuffer(), store.getSlot());
    b.setInsertionPointAfter(store);
    SlotCommitOp::create(b, store.getLoc(), store.getBuffer(), store.getSlot());
  }

  RankedTensorType ofOwner(Value tile) const {
    auto type = cast<RankedTensorType>(tile.getType());
    return withLayout(type, inOneGroup(*layoutOf(type), group_));
  }

  /// A tile of one number, as the owner has it.
  Value repeated(OpBuilder& b, Value tile) const {
    Operation* clone = b.clone(*tile.getDefiningOp());
    RankedTensorType type = ofOwner(tile);
    clone->getResult(0).setType(type);
    if (auto constant = dyn_cast<arith::ConstantOp>(clone))
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
    return clone->getResult(0);
  }

  void give(DotAsyncOp dot) {
    const AddedTile added = *onlyAdded(dot.getResult());
    tile::AccumulateOp add = added.add;
    SmallVector<ReleaseOp> releases = releasesBetween(dot, add);
    Location loc = dot.getLoc();
    OpBuilder b(add);
    auto region =
        OwnerOnlyOp::create(b, loc, dot.getASlot(), /*drained=*/needsRegisters(dot), /*waits=*/false, /*met=*/!knowsLastOwner(dot));
    OwnerOnlyOp::ensureTerminator(region.getBody(), b, loc);
    Operation* end = region.getBody().front().getTerminator();
    b.setInsertionPoint(end);
    SlotWaitOp::create(b, loc, alloc_, dot.getASlot());
    dot.getAccMutable().assign(repeated(b, dot.getAcc()));
    dot->removeAttr(kOwnedAttr);
    dot.getResult().setType(cast<RankedTensorType>(dot.getAcc().getType()));
    dot->moveBefore(end);
    for (Operation* step : added.chain) take(step, end);
    add->moveBefore(end);
    ReleaseOp::create(b, loc, alloc_, dot.getASlot());
    for (ReleaseOp release : releases) release->moveAfter(region);
  }

  /// Whether the owner's result takes the registers that operands of dots in flight have: the assembler would then serialize all dots.
  bool needsRegisters(DotAsyncOp dot) const {
    constexpr int64_t kOthers = 32;  // what the assembler needs beside accumulators and operands
    auto func = dot->getParentOfType<func::FuncOp>();
    const int64_t warps = warpsOf(func), threads = group_ * targetOf(func).warpSize;
    int64_t carried = 0, operands = 0;
    func.walk([&](LoopLikeOpInterface loop) {
      int64_t sum = 0;
      for (Value v : loop.getRegionIterArgs()) sum += registersOf(v.getType());
      carried = std::max(carried, sum);
    });
    for (Operation& op : *dot->getBlock())
      if (auto other = dyn_cast<DotAsyncOp>(op)) operands = std::max(operands, registersOf(other.getA().getType()));
    const int64_t limit = gpu::registerLimit(targetOf(func), static_cast<int>(warps / group_), static_cast<int>(threads), kFewestRegisters);
    return carried + operands + registersOf(ofOwner(dot.getResult())) + kOthers >= limit;
  }

  void take(Operation* step, Operation* end) {
    if (isa<ConvertLayoutOp>(step)) {
      step->getResult(0).replaceAllUsesWith(step->getOperand(0));
      return step->erase();
    }
    step->moveBefore(end);
    OpBuilder b(step);
    for (OpOperand& operand : step->getOpOperands())
      if (tile::isTile(operand.get().getType()) && operand.get().getParentBlock() != step->getBlock())
        operand.set(repeated(b, operand.get()));
    step->getResult(0).setType(
        withLayout(cast<RankedTensorType>(step->getResult(0).getType()), inOneGroup(*layoutOf(step->getResult(0)), group_)));
  }

  /// Whether an owner that begins its addition knows, without a barrier, that the owner before has begun its own.
  bool knowsLastOwner(DotAsyncOp dot) const {
    const int64_t groups = cast<BufferType>(alloc_->getResult(0).getType()).getSlots();
    for (StoreBufferOp store : stores_)
      if (store->getBlock() == dot->getBlock()) {
        if (dot.getASlot() == store.getSlot()) return true;
        std::optional<int64_t> written = firstSlot(store.getSlot()), read = firstSlot(dot.getASlot());
        return written && read && (*written - *read + groups) % groups == groups - 1;
      }
    return false;
  }

  /// A slot's number in the first trip of a loop (A1).
  static std::optional<int64_t> firstSlot(Value slot) {
    auto carried = dyn_cast<BlockArgument>(slot);
    auto loop = carried ? dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp()) : nullptr;
    if (!loop || carried == loop.getInductionVar()) return std::nullopt;
    return getConstantIntValue(loop.getTiedLoopInit(carried)->get());
  }

  /// Of buffers that the dot reads.
  static SmallVector<ReleaseOp> releasesBetween(DotAsyncOp dot, Operation* end) {
    SmallVector<ReleaseOp> releases;
    for (Operation* op = dot->getNextNode(); op != end; op = op->getNextNode())
      if (auto release = dyn_cast<ReleaseOp>(op); release && (release.getBuffer() == dot.getA() || release.getBuffer() == dot.getB()))
        releases.push_back(release);
    return releases;
  }

  AllocOp alloc_;
  int64_t group_;
  SmallVector<StoreBufferOp> stores_;
  SmallVector<DotAsyncOp> dots_;
};

class AssignOwnersPass : public impl::AssignOwnersPassBase<AssignOwnersPass> {
 public:
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration()) return;
    try {
      SmallVector<AllocOp> exchanged;
      func.walk([&](AllocOp alloc) {
        if (alloc->hasAttr(kExchangeAttr) && !isOfPair(alloc)) exchanged.push_back(alloc);
      });
      for (AllocOp alloc : exchanged) OwnerAssigner(alloc).run();
    } catch (const Error& error) {
      func.emitError() << error.what();
      signalPassFailure();
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
