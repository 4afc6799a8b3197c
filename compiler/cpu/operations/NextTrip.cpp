// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/operations/NextTrip.h"

#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/builder/Window.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "compiler/transforms/AffineTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Values that are the same in every trip of a loop, although some are computed inside.
class Unchanged {
 public:
  explicit Unchanged(scf::ForOp loop) : loop(loop) {}

  bool operator()(Value v) {
    if (loop.isDefinedOutsideOfLoop(v) || known.contains(v)) return true;
    Operation* op = v.getDefiningOp();
    if (!op || op->getNumRegions() || !isPure(op)) return false;
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return (*this)(operand); })) return false;
    known.insert(v);
    return true;
  }

 private:
  scf::ForOp loop;
  llvm::DenseSet<Value> known;
};

/// By how much an offset grows from trip to trip; none where that is not the same for all trips.
std::optional<int64_t> growth(Value offset, scf::ForOp loop, int64_t step, Unchanged& isUnchanged) {
  if (isUnchanged(offset)) return 0;
  SmallVector<transforms::IntegerResult> computed;
  std::optional<transforms::AffineBounds> bounds = transforms::boundsOf(offset, computed);
  if (!bounds) return std::nullopt;
  for (auto& [term, coefficient] : bounds->terms)
    if (term != loop.getInductionVar() && coefficient != 0 && !isUnchanged(term)) return std::nullopt;
  return bounds->coefficientOf(loop.getInductionVar()) * step;
}

/// A number that is loaded, by a pointer that is no tile.
bool isLoadedNumber(Operation* op) {
  auto gather = dyn_cast<tile::GatherOp>(op);
  return gather && !tile::isTile(gather.getResult().getType()) && gather.getResult().getType().isIntOrIndex();
}

/// The body's operations that a value follows from, in their order; empty where these are not only scalars, or nothing is loaded. Nothing
/// is loaded from where another loaded number says: what this trip writes may change that number, and the next trip's is read before.
SmallVector<Operation*> scalarsOf(Value v, scf::ForOp loop) {
  llvm::SmallSetVector<Operation*, 16> found;
  SmallVector<Value> work = {v};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar()) continue;
    Operation* op = value.getDefiningOp();
    if (!op || op->getBlock() != loop.getBody() || op->getNumRegions() != 0 || tile::isTile(value.getType())) return {};
    if (!isLoadedNumber(op) && !isPure(op)) return {};
    if (found.insert(op)) llvm::append_range(work, op->getOperands());
  }
  SmallVector<Operation*> ops = found.takeVector();
  llvm::sort(ops, [](Operation* x, Operation* y) { return x->isBeforeInBlock(y); });
  llvm::SmallPtrSet<Operation*, 16> loaded;  // numbers, and what follows from them
  for (Operation* op : ops) {
    const bool follows = llvm::any_of(op->getOperands(), [&](Value operand) { return loaded.contains(operand.getDefiningOp()); });
    if (follows && isLoadedNumber(op)) return {};
    if (follows || isLoadedNumber(op)) loaded.insert(op);
  }
  return loaded.empty() ? SmallVector<Operation*>() : ops;
}

/// The number, or what stands for it where the mask does not hold.
Value loadNumber(Emission& e, tile::GatherOp op) {
  HostBuilder& b = e.b;
  Type element = op.getResult().getType();
  Value at = e.scalar(op.getPtr());
  if (!op.getMask()) return fromMemory(b, LLVM::LoadOp::create(b, memoryType(element), at, bytesOf(element)), element);
  Value other = op.getOther() ? e.scalar(op.getOther()) : arith::ConstantOp::create(b, b.getZeroAttr(element)).getResult();
  return fromMemory(b, loadOrPad(b, at, e.scalar(op.getMask()), toMemory(b, other, element), bytesOf(element)), element);
}

/// What values of the source have become, until the end of the scope.
class OtherScalars {
 public:
  explicit OtherScalars(Emission& e) : e(e) {}
  OtherScalars(const OtherScalars&) = delete;
  OtherScalars& operator=(const OtherScalars&) = delete;
  ~OtherScalars() {
    for (auto [value, was] : saved) e.scalars.map(value, was);
    for (auto& [value, was] : pointers) e.blockPtrs[value] = was;
  }
  void save(Value v) {
    if (Value was = e.scalar(v)) saved.emplace_back(v, was);
    if (auto it = e.blockPtrs.find(v); it != e.blockPtrs.end()) pointers.emplace_back(v, it->second);
  }

 private:
  Emission& e;
  SmallVector<std::pair<Value, Value>> saved;
  SmallVector<std::pair<Value, BlockPtr>> pointers;
};

}  // namespace

int readsOnAlong(tile::LoadOp load) {
  auto loop = load->getParentOfType<scf::ForOp>();
  auto window = load.getPtr().getDefiningOp<tile::MakeBlockPtrOp>();
  std::optional<int64_t> step = loop ? getConstantIntValue(loop.getStep()) : std::nullopt;
  if (!window || !step) return -1;
  Unchanged isUnchanged(loop);
  bool stays = isUnchanged(window.getBase()) && llvm::all_of(window.getStrides(), [&](Value stride) { return isUnchanged(stride); });
  if (!stays) return -1;
  int along = -1;
  for (auto [d, offset] : llvm::enumerate(window.getOffsets())) {
    std::optional<int64_t> grows = growth(offset, loop, *step, isUnchanged);
    if (grows == 0) continue;
    if (along >= 0 || grows != load.getResult().getType().getDimSize(d)) return -1;
    along = static_cast<int>(d);
  }
  return along;
}

Value nextWindow(Emission& e, tile::LoadOp load) {
  auto loop = load->getParentOfType<scf::ForOp>();
  SmallVector<Operation*> ops = loop && load->getBlock() == loop.getBody() ? scalarsOf(load.getPtr(), loop) : SmallVector<Operation*>();
  if (ops.empty()) return {};
  HostBuilder& b = e.b;
  OtherScalars others(e);
  Value trip = e.scalar(loop.getInductionVar()), next = arith::AddIOp::create(b, trip, e.scalar(loop.getStep()));
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, next, e.scalar(loop.getUpperBound()));
  others.save(loop.getInductionVar());
  e.scalars.map(loop.getInductionVar(), arith::SelectOp::create(b, exists, next, trip).getResult());
  for (Operation* op : ops) {
    for (Value result : op->getResults()) others.save(result);
    if (auto gather = dyn_cast<tile::GatherOp>(op))
      e.scalars.map(gather.getResult(), loadNumber(e, gather));
    else if (!emitScalar(e, op))
      return {};
  }
  return windowOf(b, e.blockPtrs.at(load.getPtr()), load.getResult().getType().getShape()).base;
}

}  // namespace fattn::cpu
