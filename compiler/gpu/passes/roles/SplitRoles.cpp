// SPDX-License-Identifier: Apache-2.0
// Gives the copies that an engine makes to a warp group of their own, which does nothing else:
//
//   init_barriers; barrier                          init_barriers; barrier
//   copy_async %q, ... map 0                        scf.if (is_copier) {
//   scf.for %i = ... iter_args(%o, %slot) {           set_registers 24
//     copy_async %k(%i), %b[%slot] map 1              scf.if (is_copier thread 0) {
//     copy_wait ... in %b[%slot]             =>         copy_async %q, ... map 0
//     dot_async ...                                     scf.for %i = ... iter_args(%slot) { copy_async %k(%i), %b[%slot] map 1 }
//     release %b[%slot]                               }
//   }                                               } else {
//                                                     set_registers 240 more
//                                                     (the program; its copies are made elsewhere)
//                                                   }
//
// The computing warps then have no copies to issue and no registers for their addresses, and get the registers that the others do not need.
// Additions of boxes in loops are sent by a second thread of the group, when the computing warps have laid all of a tile into its buffer:
//
//   store_boxes %p, %x in %b map 2 {add}       =>    store_boxes ... {add, made = "elsewhere"}, and in front of the copies
//                                                    scf.if (is_copier thread 1) { (loops) send_boxes %p in %b map 2 {add} } else ...
//
// Then no computing warp waits until the engine has accepted a box, and the boxes are as large as the tile allows. The thread is another
// one than that of the copies, which would wait with it for the computing warps. Where a block takes one program after another it also
// stores what ends a program (Roles.h). A store for which C4 does not hold stays with the warps that compute it.
//
// What the copies are computed from, control flow included, is computed by the copying thread again. It runs ahead of the others as far as
// the slots' releases allow: a copy waits for its slot, and a wait for its copy, whatever stands between them in the program. So the
// program's waits and releases are the order that there is, and every barrier is the computing warps' own. Each role waits only for what
// stands before in the program, so that none waits for ever.
//
// Where that does not hold, nothing changes. Conditions: C1 the block has room for a further warp group (Roles.h); C2 every copy by a
// tensor map is into a buffer that is released, or stands in no loop; C3 no other buffer with the same bytes is touched before a copy, or
// in a loop with it; C4 what copies follow from is computed in loops of scf.for and branches, without memory but for numbers
// that nothing in the function writes, and not of a tile's elements, which all warps compute together.
//
// Runs behind -tilegpu-place-barriers. Test: tests/lit/gpu/split-roles.mlir.
#include "compiler/gpu/dialect/SourceLabels.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/copies/TensorMaps.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "compiler/transforms/Aliasing.h"
#include "fattn/Error.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_SPLITROLESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// What some operations of a function follow from: operations, and of loops and branches the values that are needed.
class Slice {
 public:
  /// False where C4 does not hold.
  bool add(Operation* op) {
    work_.push_back(op);
    while (!work_.empty()) {
      Operation* next = work_.pop_back_val();
      if (!ops_.insert(next).second) continue;
      Operation* parent = next->getParentOp();
      if (isa<OwnerOnlyOp>(parent)) parent = parent->getParentOp();  // one of the groups does it, for all
      if (!isa<func::FuncOp>(parent)) {
        if (!isa<scf::ForOp, scf::IfOp>(parent)) return false;
        work_.push_back(parent);
      }
      if (auto loop = dyn_cast<scf::ForOp>(next)) {
        for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}) need(bound);
      } else if (auto branch = dyn_cast<scf::IfOp>(next)) {
        need(branch.getCondition());
      } else {
        if (isa<tile::UnsplatOp>(next)) return false;
        bool engine = isa<CopyAsyncOp, StoreBoxesOp>(next);
        if (next->getNumRegions() != 0 || (!engine && !isa<AllocOp>(next) && !isMemoryEffectFree(next) && !readsConstants(next)))
          return false;
        auto store = dyn_cast<StoreBoxesOp>(next);
        for (Value operand : next->getOperands())
          if (!store || operand != store.getValue()) need(operand);
      }
    }
    return true;
  }

  bool contains(Operation* op) const { return ops_.contains(op); }
  bool needs(Value value) const { return values_.contains(value); }

 private:
  /// A number from memory that nothing in the function writes is the same for every role.
  static bool readsConstants(Operation* op) {
    if (!isa<tile::GatherOp>(op) || isa<RankedTensorType>(op->getResult(0).getType())) return false;
    const SmallVector<transforms::MemoryAccess> reads = transforms::accessesIn(op);
    transforms::Aliasing aliasing;
    WalkResult found = op->getParentOfType<func::FuncOp>().walk([&](Operation* other) {
      std::optional<transforms::MemoryAccess> write = transforms::accessOf(other);
      if (!write || !write->writes) return WalkResult::advance();
      bool meets = llvm::any_of(reads, [&](const auto& read) { return aliasing.overlap(read, *write) != transforms::Overlap::Never; });
      return meets ? WalkResult::interrupt() : WalkResult::advance();
    });
    return !found.wasInterrupted();
  }

  void need(Value value) {
    if (!values_.insert(value).second) return;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop) return;
      work_.push_back(loop);
      if (argument != loop.getInductionVar()) carried(loop, argument.getArgNumber() - 1);
      return;
    }
    Operation* op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    work_.push_back(op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) carried(loop, number);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      for (Region& region : branch->getRegions())
        if (!region.empty()) need(region.front().getTerminator()->getOperand(number));
  }

  void carried(scf::ForOp loop, unsigned number) {
    need(loop.getResult(number));
    need(loop.getRegionIterArg(number));
    need(loop.getInitArgs()[number]);
    need(loop.getYieldedValues()[number]);
  }

  llvm::SmallPtrSet<Operation*, 32> ops_;
  llvm::DenseSet<Value> values_;
  SmallVector<Operation*> work_;
};

/// Repeats a slice of a block.
class Copier {
 public:
  explicit Copier(const Slice& slice) : slice_(slice) {}

  void block(OpBuilder& b, Block& source) {
    for (Operation& op : source.without_terminator())
      if (auto owned = dyn_cast<OwnerOnlyOp>(op))
        block(b, owned.getBody().front());
      else if (slice_.contains(&op) && !isa<AllocOp>(op))
        emit(b, &op);
  }

 private:
  void emit(OpBuilder& b, Operation* op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) return emit(b, loop);
    if (auto branch = dyn_cast<scf::IfOp>(op)) return emit(b, branch);
    if (auto store = dyn_cast<StoreBoxesOp>(op)) return send(b, store);
    Operation* clone = b.clone(*op, map_);
    if (isa<CopyAsyncOp>(clone)) clone->setAttr(kMadeByAttr, b.getStringAttr(kMadeAlone));
  }

  void send(OpBuilder& b, StoreBoxesOp store) {
    SmallVector<Value> coordinates;
    for (Value coordinate : store.getCoordinates()) coordinates.push_back(map_.lookupOrDefault(coordinate));
    auto sent = SendBoxesOp::create(b, store.getLoc(), map_.lookupOrDefault(store.getPtr()), store.getBuffer(), coordinates, store.getMap(),
                                    store.getBoundaryCheck(), store.getAdd());
    copySourceLabel(store, sent);
    if (Attribute extents = store->getAttr(kExtentsAttr)) sent->setAttr(kExtentsAttr, extents);
  }

  void emit(OpBuilder& b, scf::ForOp loop) {
    SmallVector<unsigned> kept;
    SmallVector<Value> inits;
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (slice_.needs(loop.getResult(i))) kept.push_back(i), inits.push_back(map_.lookupOrDefault(loop.getInitArgs()[i]));
    auto mapped = [&](Value value) { return map_.lookupOrDefault(value); };
    auto result =
        scf::ForOp::create(b, loop.getLoc(), mapped(loop.getLowerBound()), mapped(loop.getUpperBound()), mapped(loop.getStep()), inits);
    map_.map(loop.getInductionVar(), result.getInductionVar());
    for (auto [i, number] : llvm::enumerate(kept)) map_.map(loop.getRegionIterArg(number), result.getRegionIterArg(i));
    Block& body = *result.getBody();
    if (!body.empty()) body.back().erase();
    OpBuilder inner = OpBuilder::atBlockEnd(&body);
    block(inner, *loop.getBody());
    SmallVector<Value> yields;
    for (unsigned number : kept) yields.push_back(mapped(loop.getYieldedValues()[number]));
    scf::YieldOp::create(inner, loop.getLoc(), yields);
    for (auto [i, number] : llvm::enumerate(kept)) map_.map(loop.getResult(number), result.getResult(i));
  }

  void emit(OpBuilder& b, scf::IfOp branch) {
    SmallVector<unsigned> kept;
    SmallVector<Type> types;
    for (unsigned i = 0; i < branch.getNumResults(); ++i)
      if (slice_.needs(branch.getResult(i))) kept.push_back(i), types.push_back(branch.getResult(i).getType());
    auto result = scf::IfOp::create(b, branch.getLoc(), types, map_.lookupOrDefault(branch.getCondition()), branch.elseBlock() != nullptr);
    for (auto [source, into] : {std::pair(branch.thenBlock(), result.thenBlock()), std::pair(branch.elseBlock(), result.elseBlock())}) {
      if (!source) continue;
      if (!into->empty()) into->back().erase();
      OpBuilder inner = OpBuilder::atBlockEnd(into);
      block(inner, *source);
      SmallVector<Value> yields;
      for (unsigned number : kept) yields.push_back(map_.lookupOrDefault(source->getTerminator()->getOperand(number)));
      scf::YieldOp::create(inner, branch.getLoc(), yields);
    }
    for (auto [i, number] : llvm::enumerate(kept)) map_.map(branch.getResult(number), result.getResult(i));
  }

  const Slice& slice_;
  IRMapping map_;
};

class RoleSplitter {
 public:
  explicit RoleSplitter(func::FuncOp func) : func_(func), target_(targetOf(func)), warps_(warpsOf(func)) {
    func.walk([&](CopyAsyncOp copy) {
      if (copy.isBulk()) copies_.push_back(copy);
    });
  }

  void run() {
    if (!maySplit()) return refuseOwners();
    func_.walk([&](StoreBoxesOp store) {
      Slice more = sends_;
      if (!maySendElsewhere(store) || !more.add(store)) return;
      sends_ = std::move(more);
      stores_.push_back(store);
    });
    enlargeBoxes();
    split();
  }

 private:
  int64_t group() const { return *target_.warpGroup; }

  bool maySplit() {
    return hasRoom() && llvm::all_of(copies_, [&](CopyAsyncOp copy) { return isFree(copy) && slice_.add(copy); });
  }

  /// Owners lay what they add into one buffer, which nobody but a further role can hand from one to the next.
  void refuseOwners() {
    func_.walk([](StoreBoxesOp store) {
      if (store->getParentOfType<OwnerOnlyOp>())
        throw Error(ErrorCode::InvalidArgument, "an order with owners needs copies that a warp group of their own can make",
                    "leave `owners` out, or take an order or tiles whose buffers have bytes of their own");
    });
  }

  /// C1.
  bool hasRoom() const { return !copies_.empty() && hasRoomForCopier(func_); }
  int64_t registersOfComputing() const {
    return gpu::registerLimit(target_, static_cast<int>(warps_ / group()), static_cast<int>(group()) * target_.warpSize, kFewestRegisters);
  }

  /// C2 and C3.
  bool isFree(CopyAsyncOp copy) {
    Value buffer = copy.getBuffer();
    if (!isReleased(buffer) && copy->getParentOfType<LoopLikeOpInterface>()) return false;
    WalkResult found = func_.walk([&](Operation* op) {
      for (const BufferAccess& access : accessesOf(op))
        if (access.buffer != buffer && overlap(access.buffer, buffer) && mayComeBefore(op, copy)) return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return !found.wasInterrupted();
  }

  static bool mayComeBefore(Operation* op, Operation* copy) {
    for (Operation* parent = copy->getParentOp(); parent; parent = parent->getParentOp())
      if (isa<LoopLikeOpInterface>(parent) && parent->isAncestor(op)) return true;
    for (Operation* mine = copy; mine->getBlock(); mine = mine->getParentOp())
      if (Operation* other = mine->getBlock()->findAncestorOpInBlock(*op)) return other == mine || other->isBeforeInBlock(mine);
    return true;
  }

  void split() {
    Block& body = func_.getBody().front();
    Location loc = func_.getLoc();
    // What both roles share stays in front: memory, and the barriers' birth.
    Operation* first = &body.front();
    SmallVector<Operation*> program;
    for (Operation& op : body.without_terminator()) {
      bool shared = isa<InitBarriersOp, AllocOp>(op) || (isa<BarrierOp>(op) && op.getPrevNode() && isa<InitBarriersOp>(op.getPrevNode()));
      if (!shared) program.push_back(&op);
    }
    for (Operation& op : llvm::make_early_inc_range(body))
      if (isa<AllocOp>(op)) op.moveBefore(first);
    OpBuilder b(body.getTerminator());
    Value copies = IsCopierOp::create(b, loc, b.getI1Type(), IntegerAttr());
    auto roles = scf::IfOp::create(b, loc, TypeRange(), copies, /*addThenBlock=*/true, /*addElseBlock=*/true);
    b.setInsertionPointToStart(roles.thenBlock());
    SetRegistersOp::create(b, loc, b.getI64IntegerAttr(kFewestRegisters), UnitAttr());
    inThreads(b);
    b.setInsertionPointToStart(roles.elseBlock());
    SetRegistersOp::create(b, loc, b.getI64IntegerAttr(registersOfComputing()), b.getUnitAttr());
    auto end = scf::YieldOp::create(b, loc);
    for (Operation* op : program) op->moveBefore(end);
    for (CopyAsyncOp copy : copies_) copy->setAttr(kMadeByAttr, b.getStringAttr(kMadeElsewhere));
    for (StoreBoxesOp store : stores_) store->setAttr(kMadeByAttr, b.getStringAttr(kMadeElsewhere));
    func_->setAttr(kCopierWarpsAttr, b.getI64IntegerAttr(group()));
  }

  /// Two sides of a branch, so that neither thread keeps registers for the other one. The other way round an assembler was
  /// seen to spill.
  void inThreads(OpBuilder& b) {
    if (stores_.empty()) {
      inThread(b, kCopyingThread, slice_, /*hasOther=*/false);
      scf::YieldOp::create(b, func_.getLoc());
      return;
    }
    scf::IfOp sender = inThread(b, kSendingThread, sends_, /*hasOther=*/true);
    scf::YieldOp::create(b, func_.getLoc());
    OpBuilder other = sender.getElseBodyBuilder();
    inThread(other, kCopyingThread, slice_, /*hasOther=*/false);
    scf::YieldOp::create(other, func_.getLoc());
  }

  /// What of the program a thread of the group repeats.
  scf::IfOp inThread(OpBuilder& b, int64_t thread, const Slice& slice, bool hasOther) {
    Location loc = func_.getLoc();
    Value is = IsCopierOp::create(b, loc, b.getI1Type(), b.getI64IntegerAttr(thread));
    auto alone = scf::IfOp::create(b, loc, TypeRange(), is, /*addThenBlock=*/true, /*addElseBlock=*/hasOther);
    OpBuilder inner = OpBuilder::atBlockBegin(alone.thenBlock());
    Copier(slice).block(inner, func_.getBody().front());
    scf::YieldOp::create(inner, loc);
    return alone;
  }

  /// Boxes of what is sent need not be one warp's. A map that other stores have, too, stays for them.
  void enlargeBoxes() {
    for (StoreBoxesOp store : stores_) {
      SmallVector<Attribute> maps(func_->getAttrOfType<ArrayAttr>(kTensorMapsAttr).getValue());
      NamedAttrList map(cast<DictionaryAttr>(maps[store.getMap()]));
      const int64_t columns = cast<DenseI64ArrayAttr>(map.get("box")).asArrayRef()[0], rows = store.getPtr().getType().getShape()[0];
      map.set("box", DenseI64ArrayAttr::get(func_.getContext(), {columns, mostRowsOfBox(rows)}));
      WalkResult shared = func_.walk([&](StoreBoxesOp other) {
        return other != store && other.getMap() == store.getMap() ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (shared.wasInterrupted()) {
        store.setMap(maps.size());
        maps.emplace_back();
      }
      maps[store.getMap()] = map.getDictionary(func_.getContext());
      func_->setAttr(kTensorMapsAttr, ArrayAttr::get(func_.getContext(), maps));
    }
  }

  func::FuncOp func_;
  const gpu::Target& target_;
  int64_t warps_;
  SmallVector<CopyAsyncOp> copies_;
  SmallVector<StoreBoxesOp> stores_;  ///< which a further thread sends
  Slice slice_, sends_;               ///< what copies and what these stores follow from
};

class SplitRolesPass : public impl::SplitRolesPassBase<SplitRolesPass> {
 public:
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration()) continue;
      try {
        RoleSplitter(func).run();
      } catch (const Error& error) {
        func.emitError() << error.what();
        return signalPassFailure();
      }
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
