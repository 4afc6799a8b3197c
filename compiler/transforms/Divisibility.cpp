// SPDX-License-Identifier: Apache-2.0
// A small abstract interpretation over def-use chains, from a value backwards. A value carried by a loop is first assumed to be what it
// starts as, and that is weakened until the loop's body agrees: the greatest fixed point.
#include "compiler/transforms/Divisibility.h"

#include <algorithm>
#include <bit>

#include "compiler/dialect/Tile.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace fattn::transforms {
namespace {

int64_t powerOfTwoIn(const APInt& value) {
  return value.isZero() ? kMostDivisible : std::min<int64_t>(kMostDivisible, int64_t{1} << std::min(30U, value.countr_zero()));
}
int64_t powerOfTwoIn(int64_t value) { return powerOfTwoIn(APInt(64, static_cast<uint64_t>(value))); }
int64_t times(int64_t a, int64_t b) { return a >= kMostDivisible / b ? kMostDivisible : a * b; }

int64_t bytesOf(Type element) { return element.isIntOrFloat() ? std::max(1U, element.getIntOrFloatBitWidth() / 8) : 8; }

/// One dimension of a block pointer.
struct Dimension {
  int64_t shape = 1, stride = 1, offset = 1;  ///< powers of two that divide them
  bool unitStride = false;
  bool operator==(const Dimension&) const = default;
};

/// What is known of a value: of an integer or a pointer its divisor, of a block pointer that of the base and of each dimension.
struct Facts {
  int64_t divisor = 1;
  SmallVector<Dimension, 3> dims;
  bool operator==(const Facts&) const = default;

  /// What holds for both.
  Facts meet(const Facts& other) const {
    Facts result = *this;
    result.divisor = std::min(divisor, other.divisor);
    for (auto [mine, theirs] : llvm::zip_equal(result.dims, other.dims)) {
      mine.shape = std::min(mine.shape, theirs.shape);
      mine.stride = std::min(mine.stride, theirs.stride);
      mine.offset = std::min(mine.offset, theirs.offset);
      mine.unitStride &= theirs.unitStride;
    }
    return result;
  }
};

class Analysis {
 public:
  Facts of(Value v);

 private:
  int64_t divisor(Value v) { return of(v).divisor; }
  Facts ofOperation(Value v, Operation* op);
  int64_t ofArithmetic(Operation* op);
  int64_t ofShift(Operation* op);
  Facts ofArgument(BlockArgument arg);
  Facts ofCarried(Value key, Value init, Value next);
  Facts ofMake(tile::MakeBlockPtrOp op);
  Facts ofAdvance(tile::AdvanceOp op);
  static Facts nothing(Type type);

  llvm::DenseMap<Value, Facts> assumed_;  // of carried values, while their loop is looked at
  llvm::DenseMap<Value, Facts> known_;    // what rests on no assumption
};

Facts Analysis::nothing(Type type) {
  Facts facts;
  if (auto ptr = dyn_cast<tile::PtrType>(type)) facts.divisor = bytesOf(ptr.getPointee());
  if (auto ptr = dyn_cast<tile::BlockPtrType>(type)) {
    facts.divisor = bytesOf(ptr.getElementType());
    facts.dims.resize(ptr.getRank());
  }
  return facts;
}

Facts Analysis::of(Value v) {
  if (auto known = known_.find(v); known != known_.end()) return known->second;
  auto arg = dyn_cast<BlockArgument>(v);
  Facts result = arg ? ofArgument(arg) : ofOperation(v, v.getDefiningOp());
  if (assumed_.empty()) known_[v] = result;
  return result;
}

Facts Analysis::ofArgument(BlockArgument arg) {
  Facts result = nothing(arg.getType());
  Operation* parent = arg.getOwner()->getParentOp();
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent); function && arg.getOwner()->isEntryBlock()) {
    if (auto given = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), "tile.divisibility"))
      result.divisor = std::max(result.divisor, powerOfTwoIn(given.getInt()));
    return result;
  }
  auto loop = dyn_cast_or_null<scf::ForOp>(parent);
  if (!loop) return result;
  if (arg == loop.getInductionVar()) {
    result.divisor = std::min(divisor(loop.getLowerBound()), divisor(loop.getStep()));
    return result;
  }
  return ofCarried(arg, loop.getTiedLoopInit(arg)->get(), loop.getTiedLoopYieldedValue(arg)->get());
}

Facts Analysis::ofCarried(Value key, Value init, Value next) {
  if (auto assumption = assumed_.find(key); assumption != assumed_.end()) return assumption->second;
  Facts facts = of(init);
  while (true) {
    assumed_[key] = facts;
    Facts weaker = facts.meet(of(next));
    if (weaker == facts) break;
    facts = weaker;
  }
  assumed_.erase(key);
  return facts;
}

Facts Analysis::ofMake(tile::MakeBlockPtrOp op) {
  Facts result;
  result.divisor = divisor(op.getBase());
  for (auto [shape, stride, offset] : llvm::zip_equal(op.getShape(), op.getStrides(), op.getOffsets()))
    result.dims.push_back({divisor(shape), divisor(stride), divisor(offset), matchPattern(stride, m_One())});
  return result;
}

Facts Analysis::ofAdvance(tile::AdvanceOp op) {
  Facts result = of(op.getPtr());
  for (auto [dim, delta] : llvm::zip_equal(result.dims, op.getDeltas())) dim.offset = std::min(dim.offset, divisor(delta));
  return result;
}

Facts Analysis::ofOperation(Value v, Operation* op) {
  Facts result = nothing(v.getType());
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant))) {
    result.divisor = powerOfTwoIn(constant);
    return result;
  }
  unsigned index = cast<OpResult>(v).getResultNumber();
  return llvm::TypeSwitch<Operation*, Facts>(op)
      .Case<tile::MakeBlockPtrOp>([&](auto make) { return ofMake(make); })
      .Case<tile::AdvanceOp>([&](auto advance) { return ofAdvance(advance); })
      .Case<scf::ForOp>([&](scf::ForOp loop) { return of(loop.getRegionIterArg(index)); })
      .Case<scf::IfOp>(
          [&](scf::IfOp branch) { return of(branch.thenYield().getOperand(index)).meet(of(branch.elseYield().getOperand(index))); })
      .Case<arith::SelectOp>([&](arith::SelectOp select) { return of(select.getTrueValue()).meet(of(select.getFalseValue())); })
      .Case<tile::AddPtrOp>([&](tile::AddPtrOp add) {
        auto pointer = dyn_cast<tile::PtrType>(add.getPtr().getType());
        if (!pointer) return result;
        int64_t step = times(divisor(add.getOffset()), bytesOf(pointer.getPointee()));
        result.divisor = std::max(result.divisor, std::min(divisor(add.getPtr()), step));
        return result;
      })
      .Case<tile::AssumeDivisibleOp>([&](tile::AssumeDivisibleOp assume) {
        result.divisor = std::max(divisor(assume.getInput()), powerOfTwoIn(static_cast<int64_t>(assume.getDivisor())));
        return result;
      })
      .Default([&](Operation* other) {
        result.divisor = std::max(result.divisor, ofArithmetic(other));
        return result;
      });
}

int64_t Analysis::ofArithmetic(Operation* op) {
  if (!op->getResult(0).getType().isIntOrIndex()) return 1;
  auto operand = [&](unsigned i) { return divisor(op->getOperand(i)); };
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp, arith::OrIOp, arith::XOrIOp>(op))
    return std::min(operand(0), operand(1));
  if (isa<arith::MulIOp>(op)) return times(operand(0), operand(1));
  if (isa<arith::AndIOp>(op)) return std::max(operand(0), operand(1));
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op)) return operand(0);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op)) return std::min(operand(0), operand(1));
  return ofShift(op);
}

/// Shifts by and divisions by constants: exact where what is divided is known to be a multiple.
int64_t Analysis::ofShift(Operation* op) {
  APInt constant;
  if (op->getNumOperands() != 2 || !matchPattern(op->getOperand(1), m_ConstantInt(&constant))) return 1;
  int64_t of = divisor(op->getOperand(0));
  bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
  if (divides && constant.isStrictlyPositive() && constant.isPowerOf2()) {
    int64_t by = powerOfTwoIn(constant);
    return of == kMostDivisible ? of : std::max<int64_t>(1, of / by);
  }
  if (constant.ugt(30)) return 1;
  int64_t by = int64_t{1} << constant.getZExtValue();
  if (isa<arith::ShLIOp>(op)) return times(of, by);
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op)) return of == kMostDivisible ? 1 : std::max<int64_t>(1, of / by);
  return 1;
}

}  // namespace

int64_t divisibilityOf(Value integer) { return Analysis().of(integer).divisor; }

int64_t alignmentOf(Value pointer) {
  Facts facts = Analysis().of(pointer);
  auto block = dyn_cast<tile::BlockPtrType>(pointer.getType());
  if (!block) return facts.divisor;
  int64_t bytes = bytesOf(block.getElementType()), result = facts.divisor;
  std::optional<int> contiguous = contiguousDim(pointer);
  for (auto [d, dim] : llvm::enumerate(facts.dims)) {
    result = std::min(result, times(times(dim.offset, dim.stride), bytes));
    if (static_cast<int>(d) != contiguous && block.getShape()[d] > 1) result = std::min(result, times(dim.stride, bytes));
  }
  return result;
}

std::optional<int> contiguousDim(Value blockPtr) {
  Facts facts = Analysis().of(blockPtr);
  for (int d = static_cast<int>(facts.dims.size()) - 1; d >= 0; --d)
    if (facts.dims[d].unitStride) return d;
  return std::nullopt;
}

bool isContiguous(Value blockPtr) {
  std::optional<int> d = contiguousDim(blockPtr);
  return d && *d == cast<tile::BlockPtrType>(blockPtr.getType()).getRank() - 1;
}

int64_t accessBytes(Value blockPtr, ArrayRef<int64_t> extents, int64_t maxBytes) {
  auto type = cast<tile::BlockPtrType>(blockPtr.getType());
  int64_t element = bytesOf(type.getElementType());
  std::optional<int> d = contiguousDim(blockPtr);
  if (!d) return element;
  int64_t window = times(powerOfTwoIn((extents.empty() ? type.getShape() : extents)[*d]), element);
  return std::max(element, std::min({alignmentOf(blockPtr), maxBytes, window}));
}

bool mayEndWithin(Value blockPtr, ArrayRef<int64_t> boundaryCheck, int64_t bytes) {
  std::optional<int> d = contiguousDim(blockPtr);
  if (!d || !llvm::is_contained(boundaryCheck, *d)) return false;
  int64_t element = bytesOf(cast<tile::BlockPtrType>(blockPtr.getType()).getElementType());
  return times(Analysis().of(blockPtr).dims[*d].shape, element) < bytes;
}

}  // namespace fattn::transforms
