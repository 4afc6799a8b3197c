// SPDX-License-Identifier: Apache-2.0
// Walks a block in program order, gathers elementwise values and reductions into groups, and decides what gets memory and for how long.
#include "compiler/cpu/Emitter.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Longer expressions get memory on the way: code and time to compile would grow with the square of their length.
constexpr int64_t kMostRecomputed = 128;

bool isElementwise(Operation* op) {
  if (op->getNumRegions() || op->getNumResults() != 1 || !isTile(op->getResult(0))) return false;
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "arith" || dialect == "math" || op->hasTrait<tile::CheapToRepeat>();
}

/// Its result has other indices than its operand. A splat may be of a tile without dimensions.
bool isIndexMap(Operation* op) {
  return isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::TransOp>(op) || (isa<tile::SplatOp>(op) && isTile(op->getOperand(0)));
}

/// Needs its own scalar nest: elements move in ways that no vector follows.
bool isShuffle(Operation* op) { return isa_and_nonnull<tile::ReshapeOp, tile::JoinOp, tile::SplitOp>(op); }

}  // namespace

/// An elementwise operation whose result has no memory: whoever uses it reads its operands instead.
bool Emitter::isTransparent(Operation* op) const { return op && isElementwise(op) && !views.contains(op->getResult(0)); }

bool Emitter::isCheap(Value value) const {
  llvm::SmallPtrSet<Operation*, 8> seen;
  return isCheap(value, seen);
}

bool Emitter::isCheap(Value value, llvm::SmallPtrSetImpl<Operation*>& seen) const {
  Operation* op = value.getDefiningOp();
  if (!isTransparent(op) || !seen.insert(op).second) return true;  // one that is not cheap has ended the search
  if (isa<arith::ConstantOp, tile::SplatOp, tile::ArangeOp>(op) && !isIndexMap(op)) return true;
  Type element = getElementTypeOrSelf(value.getType());
  bool cheapOp = isIndexMap(op) || isa<IntegerType>(element) || isa<arith::ExtFOp, arith::TruncFOp>(op);
  return cheapOp && llvm::all_of(op->getOperands(), [&](Value v) { return !isTile(v) || isCheap(v, seen); });
}

bool Emitter::needsMemory(Value value) const {
  if (isCheap(value)) return false;
  return llvm::any_of(value.getUsers(), [&](Operation* user) {
    // What the exact side of a select_lazy reads is computed again there: it hardly ever runs.
    Operation* at = value.getParentBlock()->findAncestorOpInBlock(*user);
    if (at != user && isa_and_nonnull<tile::SelectLazyOp>(at)) return false;
    return at != user || user->hasTrait<OpTrait::IsTerminator>() || isIndexMap(user) || isShuffle(user) || isa<tile::SelectLazyOp>(user);
  });
}

bool Emitter::anyUse(Value value, function_ref<bool(Operation*)> matches) const {
  SmallVector<Value> work = {value};
  llvm::SmallPtrSet<Operation*, 16> seen;
  while (!work.empty()) {
    for (Operation* user : work.pop_back_val().getUsers()) {
      if (!seen.insert(user).second) continue;
      if (isTransparent(user))
        work.push_back(user->getResult(0));
      else if (matches(user))
        return true;
    }
  }
  return false;
}

bool Emitter::isDone(Operation* op) const { return done.contains(op); }

bool Emitter::deadAfter(Value value, function_ref<bool(Operation*)> counts) const {
  return !anyUse(value, [&](Operation* user) { return !isDone(user) && !counts(user); });
}

bool Emitter::isDead(Value value) {
  Operation*& user = pendingUser[value];
  if (user && !isDone(user)) return false;
  return !anyUse(value, [&](Operation* other) {
    user = other;
    return !isDone(other);
  });
}

void Emitter::releaseDead(Block& block) {
  llvm::erase_if(owners, [&](Value v) {
    View& view = views[v];
    if (view.slot < 0) return true;
    if (v.getParentBlock() != &block || !isDead(v)) return false;
    release(view);
    return true;
  });
}

void Emitter::collectLeaves(Value value, bool identity, function_ref<void(Value, bool)> visit) const {
  SmallVector<std::pair<Value, bool>> work = {{value, identity}};
  llvm::DenseSet<std::pair<Value, unsigned>> seen;
  while (!work.empty()) {
    auto [v, same] = work.pop_back_val();
    if (!seen.insert({v, same ? 1U : 0U}).second) continue;
    visit(v, same);
    Operation* op = v.getDefiningOp();
    if (!isTransparent(op) && !isShuffle(op)) continue;
    for (Value operand : llvm::reverse(op->getOperands()))
      if (isTile(operand)) work.push_back({operand, same && !isIndexMap(op) && !isShuffle(op)});
  }
}

/// How many operations are computed again for each use of a value without memory.
int64_t Emitter::sizeOf(Value value) const {
  auto known = sizes.find(value);
  return known == sizes.end() || !isTransparent(value.getDefiningOp()) ? 0 : known->second;
}

/// Gives the value memory before `user` reads it, where computing it again for others is more than that is worth.
void Emitter::shareBefore(Operation* user, Value value) {
  constexpr int64_t kWorthMemory = 16;
  Operation* op = value.getDefiningOp();
  if (sizeOf(value) < kWorthMemory || op->getBlock() != user->getBlock()) return;
  if (llvm::none_of(value.getUsers(), [&](Operation* other) { return other != user && !isDone(other); })) return;
  addRoot({op, value});
  flush();
}

bool Emitter::dependsOnGroup(Value value, bool identity) const {
  bool depends = false;
  collectLeaves(value, identity, [&](Value v, bool same) {
    for (const Root& root : group.roots) {
      if (root.value && root.value == v && !same) depends = true;
      if (!root.value && v.getDefiningOp() == root.op) depends = true;
    }
  });
  return depends;
}

bool Emitter::joins(const Root& root) const {
  if (group.empty() || isShuffle(root.op) || isShuffle(group.roots[0].op)) return false;
  auto reduce = dyn_cast<tile::ReduceOp>(root.op);
  Value over = reduce ? reduce.getInputs()[0] : root.value;
  auto type = cast<RankedTensorType>(over.getType());
  if (type.getShape() != ArrayRef<int64_t>(group.shape) || lanes.lane(over) != group.lane) return false;
  if (reduce && group.reduced >= 0 && group.reduced != static_cast<int>(reduce.getAxis())) return false;
  if (!reduce) return !dependsOnGroup(root.value, true);
  return llvm::none_of(reduce.getInputs(), [&](Value v) { return dependsOnGroup(v, true); });
}

void Emitter::addRoot(Root root) {
  constexpr size_t kMostRoots = 32;  // each is compared with all others
  if (group.roots.size() >= kMostRoots || !joins(root)) flush();
  auto reduce = root.value ? tile::ReduceOp() : cast<tile::ReduceOp>(root.op);
  if (group.empty()) {
    Value over = reduce ? reduce.getInputs()[0] : root.value;
    group.shape = llvm::to_vector(cast<RankedTensorType>(over.getType()).getShape());
    group.lane = lanes.lane(over);
  }
  if (reduce) group.reduced = reduce.getAxis();
  group.roots.push_back(root);
}

/// Costly values inside the group that somebody outside of it will need, too, are stored on the way.
void Emitter::materializeEscaping(Group& g) {
  llvm::SetVector<Value> inside;
  for (const Root& root : g.roots) {
    auto visit = [&](Value v, bool identity) {
      if (identity && isTransparent(v.getDefiningOp())) inside.insert(v);
    };
    if (root.value) {
      collectLeaves(root.value, true, visit);
    } else {
      for (Value v : root.op->getOperands()) collectLeaves(v, true, visit);
    }
  }
  for (Value v : inside) {
    bool isRoot = llvm::any_of(g.roots, [&](const Root& r) { return r.value == v; });
    // What a branch or a loop stores on its way may not be there afterwards: such values belong to the block that defines them.
    if (isRoot || isCheap(v) || v.getParentBlock() != g.roots[0].op->getBlock()) continue;
    bool escapes = llvm::any_of(v.getUsers(), [&](Operation* user) {
      bool inGroup = llvm::any_of(g.roots, [&](const Root& r) { return r.op == user; });
      return !inGroup && !isDone(user) && !(user->getNumResults() == 1 && inside.contains(user->getResult(0)));
    });
    if (escapes) g.roots.push_back({v.getDefiningOp(), v});
  }
}

/// True if `root` may overwrite the memory of `leaf`: same place, same type, read only here and only at the same index.
bool Emitter::inPlaceCandidate(Value leaf, Value root) {
  auto it = views.find(leaf);
  if (it == views.end() || it->second.slot < 0 || it->second.shared || leaf.getType() != root.getType() ||
      it->second.lane != lanes.lane(root))
    return false;
  if (leaf.getParentBlock() != root.getParentBlock()) return false;
  auto inGroup = [&](Operation* user) { return llvm::any_of(group.roots, [&](const Root& r) { return r.op == user; }); };
  bool identity = true;
  for (const Root& r : group.roots)
    for (Value v : r.value ? ValueRange(r.value) : ValueRange(r.op->getOperands()))
      collectLeaves(v, true, [&](Value x, bool same) { identity &= x != leaf || same; });
  if (!identity) return false;
  // Every use, through recomputed values, must end in this group; a pending root counts as its own end.
  SmallVector<Value> work = {leaf};
  llvm::SmallPtrSet<Operation*, 16> seen;
  while (!work.empty()) {
    for (Operation* user : work.pop_back_val().getUsers()) {
      if (!seen.insert(user).second || isDone(user) || inGroup(user)) continue;
      if (!isTransparent(user)) return false;
      work.push_back(user->getResult(0));
    }
  }
  return true;
}

View Emitter::placeRoot(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Value reuse;
  collectLeaves(value, true, [&](Value leaf, bool same) {
    if (!reuse && same && leaf != value && inPlaceCandidate(leaf, value)) reuse = leaf;
  });
  if (reuse) {
    View view = views[reuse];
    views[reuse].slot = -1;
    return view;
  }
  return allocate(type.getShape(), type.getElementType(), lanes.lane(value));
}

void Emitter::flush() {
  if (group.empty()) return;
  pendingUser.clear();  // what gets memory here ends uses behind it
  materializeEscaping(group);
  SmallVector<std::pair<Value, View>> placed;
  for (const Root& root : group.roots)
    if (root.value) placed.push_back({root.value, placeRoot(root.value)});
  for (auto& [value, view] : placed) {
    views[value] = view;
    computing.insert(value);
    owners.push_back(value);
  }
  Group emitted = std::exchange(group, {});
  emitGroup(emitted);
  computing.clear();
  for (const Root& root : emitted.roots) done.insert(root.op);
}

void Emitter::emitGroup(Group g) {
  SmallVector<tile::ReduceOp> reductions;
  loc = g.roots[0].op->getLoc();
  for (const Root& root : g.roots) {
    if (root.value) continue;
    auto reduce = cast<tile::ReduceOp>(root.op);
    reductions.push_back(reduce);
    for (Value r : reduce.getResults()) {
      auto type = cast<RankedTensorType>(r.getType());
      views[r] = allocate(type.getShape(), type.getElementType(), lanes.lane(r));
      owners.push_back(r);
    }
  }
  if (!reductions.empty()) return emitReductionNest(g, reductions);
  int lane = isShuffle(g.roots[0].op) ? -1 : g.lane;
  nestOver(g.shape, lane, [&](const Point& p) {
    for (const Root& root : g.roots) storeAt(views[root.value], p, evalVector(root.value, p));
  });
}

LogicalResult Emitter::emitBlock(Block& block) {
  for (Operation& op : block.without_terminator()) {
    loc = op.getLoc();
    if (failed(emitOp(&op))) return failure();
    releaseDead(block);
  }
  flush();
  loc = block.getTerminator()->getLoc();
  return success();
}

LogicalResult Emitter::emitOp(Operation* op) {
  if (isElementwise(op)) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && !cast<DenseElementsAttr>(constant.getValue()).isSplat())
      return op->emitError("constant tiles must have one value for all elements; use arange and arithmetic for others");
    Value result = op->getResult(0);
    int64_t& size = sizes[result] = 1;
    for (Value operand : op->getOperands()) size += sizeOf(operand);
    if (needsMemory(result) || size >= kMostRecomputed) addRoot({op, result});
    if (size >= kMostRecomputed) flush();
    return success();
  }
  if (isa<tile::ReduceOp>(op)) {
    addRoot({op, Value()});
    return success();
  }
  if (isShuffle(op)) {
    flush();
    for (Value r : op->getResults()) {
      addRoot({op, r});
      flush();
    }
    return success();
  }
  bool touchesTiles = op->getNumRegions() || op->getDialect()->getNamespace() == "tile";
  if (!touchesTiles) {
    emitScalarOp(op);
    return success();
  }
  if (failed(emitTileOp(op))) return failure();
  done.insert(op);
  return success();
}

void Emitter::emitScalarOp(Operation* op) {
  if (llvm::any_of(op->getOperands(), [&](Value v) { return !scalar(v); })) return;
  Operation* made = b.clone(*op, scalars);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), made->getResults())) scalars.map(from, to);
}

LogicalResult Emitter::emitTileOp(Operation* op) {
  auto gridValue = [&](int slot) -> Value {
    Value at = LLVM::GEPOp::create(b, loc, gridBase.getType(), b.getI32Type(), gridBase, ArrayRef<LLVM::GEPArg>{slot});
    return LLVM::LoadOp::create(b, loc, b.getI32Type(), at);
  };
  auto flushed = [&](auto emit) {
    flush();
    loc = op->getLoc();
    return emit();
  };
  return TypeSwitch<Operation*, LogicalResult>(op)
      .Case<tile::ProgramIdOp>([&](auto id) { return scalars.map(id.getResult(), gridValue(static_cast<int>(id.getAxis()))), success(); })
      .Case<tile::NumProgramsOp>(
          [&](auto n) { return scalars.map(n.getResult(), gridValue(3 + static_cast<int>(n.getAxis()))), success(); })
      .Case<tile::AssumeDivisibleOp>([&](auto a) { return scalars.map(a.getResult(), scalar(a.getInput())), success(); })
      .Case<tile::AddPtrOp>([&](tile::AddPtrOp add) {
        Type element = memoryType(cast<tile::PtrType>(add.getPtr().getType()).getPointee());
        Value offset = convert(scalar(add.getOffset()), b.getI64Type());
        Value base = scalar(add.getPtr());
        scalars.map(add.getResult(),
                    LLVM::GEPOp::create(b, loc, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{offset}).getResult());
        return success();
      })
      .Case<tile::MakeBlockPtrOp>([&](tile::MakeBlockPtrOp make) {
        auto parts = [&](ValueRange values) {
          SmallVector<Stride> out;
          for (Value v : values) {
            IntegerAttr constant;
            out.push_back(matchPattern(v, m_Constant(&constant)) ? Stride(constant) : Stride(scalar(v)));
          }
          return out;
        };
        blockPtrs[make.getResult()] = {scalar(make.getBase()), make.getType().getElementType(), parts(make.getShape()),
                                       parts(make.getStrides()), parts(make.getOffsets())};
        return success();
      })
      .Case<tile::AdvanceOp>([&](tile::AdvanceOp advance) {
        BlockPtr ptr = blockPtrs.at(advance.getPtr());
        for (auto [offset, delta] : llvm::zip_equal(ptr.offsets, advance.getDeltas())) offset = addOf(offset, scalar(delta));
        blockPtrs[advance.getResult()] = ptr;
        return success();
      })
      .Case<tile::LoadOp>([&](auto o) { return emitLoad(o); })
      .Case<tile::StoreOp, tile::AccumulateOp>([&](auto o) {
        shareBefore(o, o.getValue());
        return flushed([&] { return emitWrite(o); });
      })
      .Case<tile::GatherOp>([&](auto o) { return flushed([&] { return emitGather(o); }); })
      .Case<tile::ScatterOp>([&](auto o) { return flushed([&] { return emitScatter(o); }); })
      .Case<tile::AtomicAddOp>([&](auto o) { return flushed([&] { return emitAtomicAdd(o); }); })
      .Case<tile::DevicePrintOp>([&](auto o) { return flushed([&] { return emitPrint(o); }); })
      .Case<tile::CumsumOp>([&](auto o) { return flushed([&] { return emitCumsum(o); }); })
      .Case<tile::DotOp>([&](auto o) { return flushed([&] { return emitDot(o); }); })
      .Case<tile::SelectLazyOp>([&](auto o) { return flushed([&] { return emitSelectLazy(o); }); })
      .Case<scf::ForOp>([&](auto o) { return flushed([&] { return emitFor(o); }); })
      .Case<scf::IfOp>([&](auto o) { return flushed([&] { return emitIf(o); }); })
      .Case<scf::WhileOp>([&](auto o) { return flushed([&] { return emitWhile(o); }); })
      .Default([](Operation* o) { return o->emitError("the host back end has no lowering for this operation"); });
}

}  // namespace fattn::cpu
