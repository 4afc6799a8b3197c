// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/Buffers.h"

#include "compiler/layout/Conversion.h"
#include "compiler/layout/Queries.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {

namespace {

/// Where a token comes from: the values one step back.
SmallVector<Value> sourcesOf(Value token) {
  SmallVector<Value> sources;
  if (auto argument = dyn_cast<BlockArgument>(token)) {
    Operation* parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      OpOperand* init = loop.getTiedLoopInit(argument);
      if (init) sources = {init->get(), loop.getTiedLoopYieldedValue(argument)->get()};
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      unsigned i = argument.getArgNumber();
      if (argument.getOwner() == loop.getBeforeBody())
        sources = {loop.getInits()[i], loop.getYieldOp()->getOperand(i)};
      else
        sources = {loop.getConditionOp().getArgs()[i]};
    }
    return sources;
  }
  unsigned i = cast<OpResult>(token).getResultNumber();
  Operation* op = token.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op)) return {loop.getInitArgs()[i], loop.getYieldedValues()[i]};
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return {loop.getConditionOp().getArgs()[i]};
  if (isa<scf::IfOp>(op))
    for (Region& region : op->getRegions()) sources.push_back(region.front().getTerminator()->getOperand(i));
  return sources;
}

}  // namespace

CopySet copiesOf(Value token) {
  CopySet copies;
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(token);
  for (size_t i = 0; i < seen.size(); ++i) {
    Value v = seen[i];
    if (auto copy = v.getDefiningOp<CopyAsyncOp>())
      copies.insert(copy);
    else
      for (Value source : sourcesOf(v)) seen.insert(source);
  }
  return copies;
}

SmallVector<BufferAccess, 2> accessesOf(Operation* op) {
  if (auto load = dyn_cast<LoadBufferOp>(op)) return {{.buffer = load.getBuffer(), .bySlot = isCommitted(load.getBuffer())}};
  if (auto store = dyn_cast<StoreBufferOp>(op))
    return {{.buffer = store.getBuffer(), .write = true, .bySlot = isCommitted(store.getBuffer())}};
  if (auto store = dyn_cast<StoreBoxesOp>(op)) return {{.buffer = store.getBuffer(), .write = true, .byWarp = true}};
  if (auto send = dyn_cast<SendBoxesOp>(op)) return {{.buffer = send.getBuffer()}};
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return {{.buffer = copy.getBuffer(), .write = true, .copy = true, .released = copy.isBulk() && isReleased(copy.getBuffer())}};
  SmallVector<BufferAccess, 2> accesses;
  auto dot = dyn_cast<DotAsyncOp>(op);
  if (auto wait = dyn_cast<DotWaitOp>(op)) dot = dotOf(wait.getValue());
  if (dot)
    for (const DotAsyncOp::Factors& group : dot.factors()) {
      accesses.push_back({.buffer = group.b, .dot = true});
      if (group.slotOfA) accesses.push_back({.buffer = group.a, .dot = true, .bySlot = isCommitted(group.a)});
    }
  if (auto wait = dyn_cast<CopyWaitOp>(op)) {
    llvm::SmallSetVector<Value, 4> buffers;
    for (Value token : wait.getTokens())
      for (CopyAsyncOp copy : copiesOf(token)) buffers.insert(copy.getBuffer());
    for (Value buffer : buffers)
      accesses.push_back({.buffer = buffer, .write = true, .copy = true, .released = wait.isBulk() && isReleased(buffer)});
  }
  return accesses;
}

void forEachSlot(Operation* op, llvm::function_ref<void(Value, OpOperand&)> visit) {
  llvm::TypeSwitch<Operation*>(op)
      .Case<CopyAsyncOp, LoadBufferOp, StoreBufferOp, ReleaseOp, SlotAcquireOp, SlotCommitOp, SlotWaitOp>(
          [&](auto access) { visit(access.getBuffer(), access.getSlotMutable()); })
      .Case([&](CopyWaitOp wait) {
        if (wait.isBulk()) visit(wait.getBuffer(), wait.getSlotMutable()[0]);
      })
      .Case([&](DotAsyncOp dot) {
        visit(dot.getB(), dot.getBSlotMutable());
        if (dot.getASlot()) visit(dot.getA(), dot.getASlotMutable()[0]);
        MutableOperandRange others = dot.getOthersMutable();
        for (unsigned i = 0; i + 1 < others.size(); i += 2) visit(others[i].get(), others[i + 1]);
      });
}

bool touches(Operation* op, const llvm::SmallSetVector<Value, 4>& buffers) {
  WalkResult found = op->walk([&](Operation* inner) {
    auto hit = [&](const BufferAccess& access) { return buffers.contains(access.buffer); };
    return llvm::any_of(accessesOf(inner), hit) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

bool isReleased(Value buffer) { return llvm::any_of(buffer.getUsers(), llvm::IsaPred<ReleaseOp>); }

bool isOfPair(Value buffer) {
  Operation* alloc = buffer.getDefiningOp();
  return alloc && alloc->hasAttr(kPairedAttr);
}

bool isCommitted(Value buffer) { return llvm::any_of(buffer.getUsers(), llvm::IsaPred<SlotCommitOp>); }

bool isStored(Value buffer) { return llvm::any_of(buffer.getUsers(), llvm::IsaPred<StoreBoxesOp>); }

bool isUnorderedAdd(Operation* op) {
  if (isa<tile::AccumulateOp>(op)) return true;
  if (auto store = dyn_cast<StoreBoxesOp>(op)) return store.getAdd();
  auto add = dyn_cast<tile::AtomicAddOp>(op);
  return add && add.use_empty() && add.getOrder() == tile::MemoryOrder::relaxed;
}

bool overlap(Value a, Value b) {
  if (a == b) return true;
  auto first = a.getDefiningOp<AllocOp>(), second = b.getDefiningOp<AllocOp>();
  if (!first || !second || !first.getOffset() || !second.getOffset()) return false;
  auto begin = [](AllocOp alloc) { return static_cast<int64_t>(*alloc.getOffset()); };
  auto end = [&](AllocOp alloc) { return begin(alloc) + alloc.getResult().getType().getBytes(); };
  return begin(first) < end(second) && begin(second) < end(first);
}

bool isWrittenBetween(Operation* from, Operation* to, Value buffer) {
  for (Operation* op = from->getNextNode(); op != to; op = op->getNextNode()) {
    WalkResult found = op->walk([&](Operation* inner) {
      if (auto release = dyn_cast<ReleaseOp>(inner); release && release.getBuffer() == buffer) return WalkResult::interrupt();
      auto writes = [&](const BufferAccess& access) { return access.write && access.buffer == buffer; };
      return llvm::any_of(accessesOf(inner), writes) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted()) return true;
  }
  return false;
}

bool crossesWarps(ConvertLayoutOp conversion) {
  if (!conversion) return false;
  const layout::LinearLayout *from = layoutOf(conversion.getInput().getType()), *to = layoutOf(conversion.getType());
  const int bits = elementBits(conversion.getType().getElementType());
  return from && to && layout::planConversion(*from, *to, bits, banksOf(conversion)).kind == layout::ConversionKind::Shared;
}

bool crossesWarps(tile::ReduceOp reduce) {
  const layout::LinearLayout* layout = layoutOf(reduce.getInputs().front().getType());
  if (!layout || picksAny(reduce)) return false;
  const layout::ReductionPlan plan = layout::planReduction(*layout, static_cast<int>(reduce.getAxis()));
  return !plan.warps.empty() || !plan.warpCopies.empty();
}

bool splitsOperands(tile::DotOp dot) {
  return dot.getA().getType().getElementType().isF32() && dot.getPrecision() == tile::Precision::ieee;
}

int64_t registersOf(Type type) {
  const layout::LinearLayout* layout = layoutOf(type);
  if (!layout) return 0;
  return (layout->inputSize(layout::kRegister) * elementBits(cast<RankedTensorType>(type).getElementType()) + 31) / 32;
}

int64_t registersIn(Operation* loop) {
  int64_t carried = 0, largest = 0;
  loop->walk([&](Operation* op) {
    if (auto inner = dyn_cast<LoopLikeOpInterface>(op)) {
      int64_t sum = 0;
      for (Value v : inner.getRegionIterArgs()) sum += registersOf(v.getType());
      carried = std::max(carried, sum);
    }
    auto dot = dyn_cast<tile::DotOp>(op);
    auto unit = dyn_cast<DotAsyncOp>(op);
    Value start = dot ? dot.getAcc() : unit ? unit.getAcc() : Value();
    if (start && matchPattern(start, m_Constant())) largest = std::max(largest, registersOf(start.getType()));
  });
  return carried + largest;
}

StringRef argumentOf(Value pointer) {
  while (Operation* op = pointer.getDefiningOp()) {
    if (op->getNumOperands() == 0 || !isa<tile::AddPtrOp, tile::MakeBlockPtrOp, tile::AdvanceOp>(op)) return {};
    pointer = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(pointer);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tile.name") : StringAttr();
  return name ? name.getValue() : StringRef();
}

}  // namespace fattn::tilegpu
