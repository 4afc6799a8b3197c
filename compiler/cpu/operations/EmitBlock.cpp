// SPDX-License-Identifier: Apache-2.0
// Walks a block in program order: elementwise values and reductions wait in a group, everything else is emitted at once, after the group.
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Groups.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "compiler/cpu/state/Expressions.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

LogicalResult addElementwise(Emission& e, Operation* op) {
  // Longer expressions get memory on the way: code and time to compile would grow with the square of their length.
  constexpr int64_t kMostRecomputed = 128;
  if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && !cast<DenseElementsAttr>(constant.getValue()).isSplat())
    return op->emitError("constant tiles must have one value for all elements; use arange and arithmetic for others");
  Value result = op->getResult(0);
  int64_t size = 1;
  for (Value operand : op->getOperands()) size += recomputedOps(e, operand);
  e.expressionSize[result] = size;
  if (needsMemory(e.tiles, result) || size >= kMostRecomputed) addRoot(e, {op, result});
  if (size >= kMostRecomputed) flush(e);
  return success();
}

/// Each result has a nest of its own.
void emitShuffle(Emission& e, Operation* op) {
  flush(e);
  for (Value r : op->getResults()) {
    addRoot(e, {op, r});
    flush(e);
  }
}

void emitScalarOp(Emission& e, Operation* op) {
  if (llvm::any_of(op->getOperands(), [&](Value v) { return !e.scalar(v); })) return;
  Operation* made = e.b.clone(*op, e.scalars);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), made->getResults())) e.scalars.map(from, to);
}

void emitUnsplat(Emission& e, tile::UnsplatOp op) {
  Point first;
  first.index.assign(op.getInput().getType().getRank(), e.b.i64(0));
  e.scalars.map(op.getResult(), convert(e.b, eval(e, op.getInput(), first), op.getType()));
}

/// The grid holds the program's ids x, y, z and then how many there are of each.
void emitGridValue(Emission& e, Value result, int slot) {
  Value grid = e.entry.grid;
  Value at = LLVM::GEPOp::create(e.b, grid.getType(), e.b.getI32Type(), grid, ArrayRef<LLVM::GEPArg>{slot});
  e.scalars.map(result, LLVM::LoadOp::create(e.b, e.b.getI32Type(), at).getResult());
}

void emitAddPtr(Emission& e, tile::AddPtrOp op) {
  Type element = memoryType(cast<tile::PtrType>(op.getPtr().getType()).getPointee());
  Value offset = convert(e.b, e.scalar(op.getOffset()), e.b.getI64Type());
  Value base = e.scalar(op.getPtr());
  e.scalars.map(op.getResult(), LLVM::GEPOp::create(e.b, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{offset}).getResult());
}

SmallVector<Stride> stridesOf(const Emission& e, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value v) {
    IntegerAttr constant;
    return matchPattern(v, m_Constant(&constant)) ? Stride(constant) : Stride(e.scalar(v));
  });
}

void makeBlockPtr(Emission& e, tile::MakeBlockPtrOp op) {
  e.blockPtrs[op.getResult()] = {.base = e.scalar(op.getBase()),
                                 .element = op.getType().getElementType(),
                                 .shape = stridesOf(e, op.getShape()),
                                 .strides = stridesOf(e, op.getStrides()),
                                 .offsets = stridesOf(e, op.getOffsets())};
}

void advanceBlockPtr(Emission& e, tile::AdvanceOp op) {
  BlockPtr ptr = e.blockPtrs.at(op.getPtr());
  for (auto [offset, delta] : llvm::zip_equal(ptr.offsets, op.getDeltas())) offset = e.b.add(offset, e.scalar(delta));
  e.blockPtrs[op.getResult()] = ptr;
}

/// Operations that make scalars and pointers, or read in place: what waits in the group may go on waiting. False: it is none of them.
bool emitWithoutFlush(Emission& e, Operation* op) {
  bool known = true;
  TypeSwitch<Operation*>(op)
      .Case<tile::ProgramIdOp>([&](auto o) { emitGridValue(e, o.getResult(), static_cast<int>(o.getAxis())); })
      .Case<tile::NumProgramsOp>([&](auto o) { emitGridValue(e, o.getResult(), 3 + static_cast<int>(o.getAxis())); })
      .Case<tile::AssumeDivisibleOp>([&](auto o) { e.scalars.map(o.getResult(), e.scalar(o.getInput())); })
      .Case<tile::AddPtrOp>([&](auto o) { emitAddPtr(e, o); })
      .Case<tile::MakeBlockPtrOp>([&](auto o) { makeBlockPtr(e, o); })
      .Case<tile::AdvanceOp>([&](auto o) { advanceBlockPtr(e, o); })
      .Case<tile::LoadOp>([&](auto o) { emitLoad(e, o); })
      .Default([&](Operation*) { known = false; });
  return known;
}

/// Operations that take what the group computes, or write what it reads.
LogicalResult emitAfterFlush(Emission& e, Operation* op) {
  flush(e);
  e.b.setLoc(op->getLoc());
  return TypeSwitch<Operation*, LogicalResult>(op)
      .Case<tile::StoreOp, tile::AccumulateOp>([&](auto o) { return emitWrite(e, o), success(); })
      .Case<tile::GatherOp>([&](auto o) { return emitGather(e, o), success(); })
      .Case<tile::ScatterOp>([&](auto o) { return emitScatter(e, o), success(); })
      .Case<tile::AtomicAddOp>([&](auto o) { return emitAtomicAdd(e, o), success(); })
      .Case<tile::DevicePrintOp>([&](auto o) { return emitPrint(e, o), success(); })
      .Case<tile::UnsplatOp>([&](auto o) { return emitUnsplat(e, o), success(); })
      .Case<tile::CumsumOp>([&](auto o) { return emitCumsum(e, o), success(); })
      .Case<tile::DotOp>([&](auto o) { return emitDot(e, o), success(); })
      .Case<tile::SelectLazyOp>([&](auto o) { return emitSelectLazy(e, o); })
      .Case<scf::ForOp>([&](auto o) { return emitFor(e, o); })
      .Case<scf::IfOp>([&](auto o) { return emitIf(e, o); })
      .Case<scf::WhileOp>([&](auto o) { return emitWhile(e, o); })
      .Default([](Operation* o) { return o->emitError("the host back end has no lowering for this operation"); });
}

/// What a store through a block pointer takes; null of other operations.
Value storedValue(Operation* op) {
  if (auto store = dyn_cast<tile::StoreOp>(op)) return store.getValue();
  if (auto accumulate = dyn_cast<tile::AccumulateOp>(op)) return accumulate.getValue();
  return {};
}

LogicalResult emitTileOp(Emission& e, Operation* op) {
  if (!emitWithoutFlush(e, op)) {
    if (Value stored = storedValue(op)) shareBefore(e, op, stored);
    if (failed(emitAfterFlush(e, op))) return failure();
  }
  e.liveness.markDone(op);
  return success();
}

LogicalResult emitOp(Emission& e, Operation* op) {
  if (isElementwise(op)) return addElementwise(e, op);
  if (isa<tile::ReduceOp>(op))
    addRoot(e, {op, Value()});
  else if (isShuffle(op))
    emitShuffle(e, op);
  else if (op->getNumRegions() || op->getDialect()->getNamespace() == "tile")
    return emitTileOp(e, op);
  else
    emitScalarOp(e, op);
  return success();
}

}  // namespace

bool emitScalar(Emission& e, Operation* op) {
  const bool pointers = isa<tile::AddPtrOp, tile::MakeBlockPtrOp, tile::AdvanceOp, tile::AssumeDivisibleOp>(op);
  if (pointers) return emitWithoutFlush(e, op);
  if (isElementwise(op) || op->getNumRegions() != 0 || op->getDialect()->getNamespace() == "tile") return false;
  emitScalarOp(e, op);
  return true;
}

LogicalResult emitBlock(Emission& e, Block& block) {
  for (Operation& op : block.without_terminator()) {
    e.b.setLoc(op.getLoc());
    if (failed(emitOp(e, &op))) return failure();
    releaseDead(e, block);
  }
  flush(e);
  e.b.setLoc(block.getTerminator()->getLoc());
  return success();
}

}  // namespace fattn::cpu
