// SPDX-License-Identifier: Apache-2.0
// Gives each product of a pair, and what follows from it alone, a warp group of its own:
//
//   %s = dot_async %k[0], %q[%n], 0 {tilegpu.paired = 0}      %x = dot_async %k[0], %q[%n], 0 others(%v[0], %o[%n])
//   %d = dot_wait %s                                          %y = dot_wait %x                   // 128 rows: 64 of each group
//   %t = dot_async %v[0], %o[%n], 0 {tilegpu.paired = 1}      owner_only 0 {
//   %e = dot_wait %t                                            %d = group_part %y
//   %p = math.exp2 %d                                           %p = math.exp2 %d
//   store_buffer %p, %b[%i]                              =>     slot_acquire %b[%i]; store_buffer %p, %b[%i]; slot_commit %b[%i]
//   %r = load_buffer %b[%i]                                   }
//   %u = arith.mulf %r, %e                                    slot_wait %b[%i]
//   store_buffer %u, %c[%j]                                   owner_only 1 {
//   %z = dot_async %c[%j], ...                                  %e = group_part %y; %r = load_buffer %b[%i]; %u = arith.mulf %r, %e
//                                                               slot_acquire %c[%j]; store_buffer %u, %c[%j]; slot_commit %c[%j]
//                                                             }
//                                                             slot_wait %c[%j]
//                                                             %z = dot_async %c[%j], ...
//
// The groups execute the same instructions of the matrix unit, with addresses of their own, so that no branch holds one. A group's region
// stands where the last of its stores does. What its operations need of a trip's other values they compute there, as each group has copies
// of them; what is loaded of other buffers stays in front, where -tilegpu-read-before-dots finds it.
//
// The buffers' slots are handed over by their barrier objects. All warps read them, and release them where -tilegpu-schedule-loops has
// placed that, behind their last reader.
//
// Conditions, else an error: C1 the products of a pair stand next to each other: what follows from the first comes behind the last; C2 a
// slot is read in one trip; C3 no warp needs another one's part of what follows from a product.
//
// Runs before -tilegpu-store-boxes and -tilegpu-place-waits. Test: tests/lit/gpu/pairs.mlir.
#include "compiler/gpu/dialect/SourceLabels.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/GroupLayouts.h"
#include "compiler/gpu/passes/roles/PairedDots.h"
#include "fattn/Error.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_ASSIGNPAIRSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

[[noreturn]] void cannotPair(const std::string& why) {
  failPairs(why, "put the two products next to each other, and what reads a tile that groups exchange into one trip, or leave `pairs` out");
}

/// Of the wait for a product.
std::optional<int64_t> groupOf(Operation* op) {
  auto wait = dyn_cast<DotWaitOp>(op);
  auto dot = wait ? wait.getValue().getDefiningOp<DotAsyncOp>() : DotAsyncOp();
  return dot ? pairedGroup(dot) : std::nullopt;
}

/// The operation of `block` that `op` is, or is in.
Operation* placeIn(Block& block, Operation* op) { return block.findAncestorOpInBlock(*op); }

/// A group's operations of one block: those that its stores are computed from.
class Chain {
 public:
  Chain(Block& block, int64_t group, ArrayRef<StoreBufferOp> stores, Value products, int64_t groupWarps)
      : block_(block), group_(group), stores_(stores), products_(products), groupWarps_(groupWarps) {}

  void run() {
    for (StoreBufferOp store : stores_) collect(store.getValue());
    StoreBufferOp last = stores_.back();
    OpBuilder b(last);
    Location loc = last.getLoc();
    Value turn = arith::ConstantIntOp::create(b, loc, group_, 32);
    auto region = OwnerOnlyOp::create(b, loc, turn, /*drained=*/false, /*waits=*/false, /*met=*/false);
    OwnerOnlyOp::ensureTerminator(region.getBody(), b, loc);
    OpBuilder inside(region.getBody().front().getTerminator());
    for (Operation& op : block_.without_terminator())
      if (taken_.contains(&op)) take(inside, &op);
    for (StoreBufferOp store : stores_) put(inside, store);
    SmallVector<Operation*> before;
    for (Operation& op : block_.without_terminator())
      if (taken_.contains(&op)) before.push_back(&op);
    for (Operation* op : before)
      if (auto load = dyn_cast<LoadBufferOp>(op)) keepReleaseBehind(load, region);
    for (Operation* op : llvm::reverse(before))
      if (isOpTriviallyDead(op)) op->erase();
  }

 private:
  /// What has been read in the region is released behind it.
  void keepReleaseBehind(LoadBufferOp load, OwnerOnlyOp region) const {
    for (auto release : llvm::make_early_inc_range(block_.getOps<ReleaseOp>()))
      if (release.getBuffer() == load.getBuffer() && release.getSlot() == load.getSlot() && release->isBeforeInBlock(region))
        release->moveAfter(region);
  }

  /// Whether the group computes the operation again: what has no effect, and reads of what another group has left for it.
  bool isTaken(Operation* op) const {
    if (!op || op->getBlock() != &block_ || isa<DotWaitOp, DotAsyncOp, tile::LoadOp, tile::GatherOp>(op)) return false;
    if (auto load = dyn_cast<LoadBufferOp>(op)) return isOfPair(load.getBuffer());
    const bool tiles = llvm::any_of(op->getResultTypes(), tile::isTile);
    return tiles && isMemoryEffectFree(op);
  }

  void collect(Value value) {
    Operation* op = value.getDefiningOp();
    if (!isTaken(op) || !taken_.insert(op).second) return;
    op->walk([&](Operation* inner) {
      for (Value operand : inner->getOperands()) collect(operand);
    });
  }

  RankedTensorType ofGroup(Type type) const {
    auto tile = cast<RankedTensorType>(type);
    return withLayout(tile, inOneGroup(*layoutOf(tile), groupWarps_));
  }

  /// A value as the group has it.
  Value inGroup(OpBuilder& b, Value value) {
    if (!tile::isTile(value.getType())) return value;
    if (Value known = map_.lookupOrNull(value)) return known;
    Operation* op = value.getDefiningOp();
    Value result;
    if (op && (op->hasTrait<OpTrait::ConstantLike>() || isa<tile::SplatOp>(op))) {
      result = again(b, op)->getResult(0);
    } else {
      const bool product = op && groupOf(op);
      result = GroupPartOp::create(b, value.getLoc(), ofGroup(value.getType()), product ? products_ : value);
    }
    map_.map(value, result);
    return result;
  }

  /// The operation once more, with tiles of the group's.
  Operation* again(OpBuilder& b, Operation* op) {
    op->walk([&](Operation* inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp())) map_.map(operand, inGroup(b, operand));
    });
    Operation* clone = b.clone(*op, map_);
    clone->walk([&](Operation* inner) {
      for (Value result : inner->getResults())
        if (tile::isTile(result.getType())) result.setType(ofGroup(result.getType()));
      if (auto constant = dyn_cast<arith::ConstantOp>(inner); constant && tile::isTile(constant.getType()))
        constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(constant.getType())));
    });
    return clone;
  }

  void take(OpBuilder& b, Operation* op) {
    op->walk([](Operation* inner) {
      auto reduce = dyn_cast<tile::ReduceOp>(inner);
      if (crossesWarps(dyn_cast<ConvertLayoutOp>(inner)) || (reduce && crossesWarps(reduce)))
        cannotPair("warps exchange what follows from a product, for which all of them would have to meet");
    });
    Operation* clone = again(b, op);
    for (auto [from, to] : llvm::zip_equal(op->getResults(), clone->getResults())) map_.map(from, to);
  }

  void put(OpBuilder& b, StoreBufferOp store) {
    Location loc = store.getLoc();
    Value value = inGroup(b, store.getValue());
    SlotAcquireOp::create(b, loc, store.getBuffer(), store.getSlot());
    store.getValueMutable().assign(value);
    store->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    SlotCommitOp::create(b, loc, store.getBuffer(), store.getSlot());
  }

  Block& block_;
  int64_t group_;
  ArrayRef<StoreBufferOp> stores_;
  Value products_;
  int64_t groupWarps_;
  llvm::SmallPtrSet<Operation*, 32> taken_;
  IRMapping map_;
};

/// The products of a pair in one block, and what follows from them.
class PairAssigner {
 public:
  PairAssigner(Block& block, ArrayRef<DotAsyncOp> dots) : block_(block), dots_(dots) {}

  void run() {
    const int64_t groupWarps = *targetOf(dots_.front()).warpGroup;
    auto chains = chainsOf(block_, groupOf);
    llvm::MapVector<int64_t, SmallVector<StoreBufferOp>> stores;
    for (auto store : block_.getOps<StoreBufferOp>())
      if (auto chain = chains.find(store); chain != chains.end() && isOfPair(store.getBuffer())) stores[chain->second].push_back(store);
    const Value products = merge(groupWarps);
    for (auto& [group, own] : stores) Chain(block_, group, own, products, groupWarps).run();
    for (DotAsyncOp dot : dots_) {
      Operation* wait = *dot->user_begin();
      if (!wait->use_empty()) cannotPair("something beside the groups uses a product");
      wait->erase();
      dot->erase();
    }
  }

 private:
  /// One instruction for all groups where the last product begins, and the wait for it.
  Value merge(int64_t groupWarps) {
    DotAsyncOp first = dots_.front(), last = first;
    for (DotAsyncOp dot : dots_)
      if (last->isBeforeInBlock(dot)) last = dot;
    for (DotAsyncOp dot : dots_)
      for (Operation* user : (*dot->user_begin())->getUsers())
        if (placeIn(block_, user)->isBeforeInBlock(last)) cannotPair("something follows from a product before the last one of its pair");
    OpBuilder b(last);
    Location loc = last.getLoc();
    const auto groups = static_cast<int64_t>(dots_.size());
    auto one = cast<RankedTensorType>(first.getType());
    auto all = withLayout(RankedTensorType::get({one.getDimSize(0) * groups, one.getDimSize(1)}, one.getElementType()),
                          onePerGroup(inOneGroup(*layoutOf(one), groupWarps), groups));
    Value zero = arith::ConstantOp::create(b, loc, all, cast<TypedAttr>(b.getZeroAttr(all)));
    SmallVector<Value> others;
    for (DotAsyncOp dot : dots_.drop_front())
      llvm::append_range(others, ValueRange({dot.getA(), dot.getASlot(), dot.getB(), dot.getBSlot()}));
    auto begun = DotAsyncOp::create(b, loc, all, zero, first.getB(), first.getBSlot(), first.getA(), first.getASlot(), others,
                                    first.getInstructionAttr(), first.getTransposedA(), first.getTransposedB());
    keepLabels(begun);
    b.setInsertionPointAfter(last);
    return DotWaitOp::create(b, loc, all, begun.getResult(), IntegerAttr(), UnitAttr());
  }

  void keepLabels(DotAsyncOp begun) {
    auto keep = [&](Operation* of, StringRef from, StringRef to) {
      if (Attribute kept = of->getAttr(from)) begun->setAttr(to, kept);
    };
    for (size_t group = 0; group < dots_.size(); ++group) {
      keep(dots_[group], sourceOfAAttr(0), sourceOfAAttr(group));
      keep(dots_[group], sourceOfBAttr(0), sourceOfBAttr(group));
    }
    keep(dots_.front(), kUsedAttr, kUsedAttr);
  }

  Block& block_;
  ArrayRef<DotAsyncOp> dots_;
};

/// Waits for the fills of a buffer in front of its first reader in each trip.
void handOver(AllocOp alloc) {
  llvm::MapVector<std::pair<Block*, Value>, Operation*> first;
  for (Operation* user : alloc->getUsers()) {
    Operation* reader = user;
    if (isa<LoadBufferOp>(user)) reader = user->getParentOfType<OwnerOnlyOp>();
    if (!reader) cannotPair("a tile that groups exchange is read by all of them");
    auto dot = dyn_cast<DotAsyncOp>(user);
    auto load = dyn_cast<LoadBufferOp>(user);
    if (!dot && !load) continue;
    Operation*& known = first[{reader->getBlock(), dot ? dot.getASlot() : load.getSlot()}];
    if (!known || reader->isBeforeInBlock(known)) known = reader;
  }
  for (auto& [place, reader] : first) {
    for (auto& [other, _] : first)
      if (place.first == other.first && place.second != other.second) cannotPair("a tile that groups exchange is read in different trips");
    OpBuilder b(reader);
    SlotWaitOp::create(b, alloc.getLoc(), alloc, place.second);
  }
}

class AssignPairsPass : public impl::AssignPairsPassBase<AssignPairsPass> {
 public:
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration()) return;
    try {
      llvm::MapVector<Block*, SmallVector<DotAsyncOp>> pairs;
      func.walk([&](DotAsyncOp dot) {
        if (dot->hasAttr(kPairedAttr)) pairs[dot->getBlock()].push_back(dot);
      });
      if (pairs.empty()) return;
      for (auto& [block, dots] : pairs) assign(*block, dots);
      SmallVector<AllocOp> exchanged;
      func.walk([&](AllocOp alloc) {
        if (isOfPair(alloc)) exchanged.push_back(alloc);
      });
      for (AllocOp alloc : exchanged) handOver(alloc);
    } catch (const Error& error) {
      func.emitError() << error.what();
      signalPassFailure();
    }
  }

 private:
  static void assign(Block& block, SmallVector<DotAsyncOp>& dots) {
    const int64_t groups = warpsOf(dots.front()) / *targetOf(dots.front()).warpGroup;
    llvm::sort(dots, [](DotAsyncOp a, DotAsyncOp b) { return pairedGroup(a) < pairedGroup(b); });
    for (auto [i, dot] : llvm::enumerate(dots))
      if (std::ssize(dots) != groups || pairedGroup(dot) != static_cast<int64_t>(i))
        cannotPair("the products of a pair stand in different trips");
    PairAssigner(block, dots).run();
  }
};

}  // namespace

}  // namespace fattn::tilegpu
