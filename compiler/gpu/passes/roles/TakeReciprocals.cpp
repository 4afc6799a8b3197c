// SPDX-License-Identifier: Apache-2.0
// Divides by numbers of the launch with a multiplication, where a block takes several programs:
//
//   each_program { ^(%x, %y, %z):             %d1 = maxui %d, 1; %r = divui 2^32 - 1, %d1
//     %q = divsi %x, %d                       each_program { ^(%x, %y, %z):
//     %m = remsi %x, %d                =>       %guess = %x * %r >> 32, in 64 bits
//   }                                           %rest = %x - %guess * %d
//                                               %more = cmpi uge, %rest, %d
//                                               %q = %guess + %more; %m = select %more, %rest - %d, %rest
//                                             }
//
// A GPU has no instruction for a division. The reciprocal takes what one division takes, once a block; each division of a program then
// takes six instructions instead of about 27, which stood between a program's number and its first copies.
//
// Why the guess is at most one too small: r is at least 2^32 / d - 1, so x * r / 2^32 is at least x / d - x / 2^32, which is more than
// x / d - 1/2 for x below 2^31; and it is at most x / d.
//
// Conditions, else a division stays: C1 its numbers have 32 bits, and the divisor is an argument that the launch requires not to be
// negative
// (`tilegpu.non_negative`); a kernel that is launched with 0 has no legal quotient; C2 what is divided counts programs: an index of the
// program, an index times the extent of another axis plus that axis' index, which is less than the number of all programs (below 2^31,
// which the launch requires where blocks take several), or a quotient or remainder of such a number.
//
// Runs behind -tilegpu-repeat-programs. Test: tests/lit/gpu/take-reciprocals.mlir.
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/passes/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_TAKERECIPROCALSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

class Reciprocals {
 public:
  explicit Reciprocals(EachProgramOp each) : each_(each) {
    if (auto known = each->getParentOfType<func::FuncOp>()->getAttrOfType<DenseI64ArrayAttr>(kNonNegativeAttr))
      nonNegative_ = known.asArrayRef();
  }

  void run() {
    SmallVector<Operation*> divisions;
    each_.walk([&](Operation* op) {
      if (isa<arith::DivSIOp, arith::RemSIOp>(op) && isDivisor(op->getOperand(1)) && countsPrograms(op->getOperand(0)))
        divisions.push_back(op);
    });
    for (Operation* division : divisions) replace(division);
  }

 private:
  /// C1.
  bool isDivisor(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && value.getType().isInteger(32) && isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
           llvm::is_contained(nonNegative_, argument.getArgNumber());
  }

  /// The axis of a program's index; nothing where the value is something else.
  std::optional<unsigned> axisOf(Value value) {
    constexpr unsigned kAxes = 3;
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &each_.getBody().front() || argument.getArgNumber() >= kAxes) return std::nullopt;
    return argument.getArgNumber();
  }

  /// C2.
  bool countsPrograms(Value value) {
    if (axisOf(value)) return true;
    Operation* op = value.getDefiningOp();
    if (!op) return false;
    if (isa<arith::DivSIOp, arith::RemSIOp>(op)) return isDivisor(op->getOperand(1)) && countsPrograms(op->getOperand(0));
    auto sum = dyn_cast<arith::AddIOp>(op);
    return sum && (isRow(sum.getLhs(), sum.getRhs()) || isRow(sum.getRhs(), sum.getLhs()));
  }

  /// Whether it is another axis' index times the extent of the axis whose index `column` is.
  bool isRow(Value value, Value column) {
    auto product = value.getDefiningOp<arith::MulIOp>();
    std::optional<unsigned> axis = axisOf(column);
    if (!product || !axis) return false;
    return llvm::any_of(llvm::seq(2U), [&](unsigned i) {
      auto extent = product->getOperand(i).getDefiningOp<tile::NumProgramsOp>();
      std::optional<unsigned> row = axisOf(product->getOperand(1 - i));
      return extent && row && *row != *axis && static_cast<unsigned>(extent.getAxis()) == *axis;
    });
  }

  Value reciprocalOf(Value divisor) {
    Value& known = reciprocals_[divisor];
    if (known) return known;
    OpBuilder b(each_);
    Location loc = each_.getLoc();
    Value some = arith::MaxUIOp::create(b, loc, divisor, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1)));
    return known = arith::DivUIOp::create(b, loc, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(-1)), some);
  }

  void replace(Operation* division) {
    Value dividend = division->getOperand(0), divisor = division->getOperand(1), reciprocal = reciprocalOf(divisor);
    OpBuilder b(division);
    Location loc = division->getLoc();
    Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), dividend);
    Value factor = arith::ExtUIOp::create(b, loc, b.getI64Type(), reciprocal);
    Value product = arith::MulIOp::create(b, loc, wide, factor);
    Value upper = arith::ShRUIOp::create(b, loc, product, arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32)));
    Value guess = arith::TruncIOp::create(b, loc, b.getI32Type(), upper);
    Value rest = arith::SubIOp::create(b, loc, dividend, arith::MulIOp::create(b, loc, guess, divisor));
    Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, rest, divisor);
    Value result;
    if (isa<arith::DivSIOp>(division))
      result = arith::AddIOp::create(b, loc, guess, arith::ExtUIOp::create(b, loc, b.getI32Type(), more));
    else
      result = arith::SelectOp::create(b, loc, more, arith::SubIOp::create(b, loc, rest, divisor), rest);
    division->getResult(0).replaceAllUsesWith(result);
    division->erase();
  }

  EachProgramOp each_;
  ArrayRef<int64_t> nonNegative_;
  llvm::MapVector<Value, Value> reciprocals_;
};

struct TakeReciprocalsPass : impl::TakeReciprocalsPassBase<TakeReciprocalsPass> {
  void runOnOperation() override {
    getOperation().walk([](EachProgramOp each) { Reciprocals(each).run(); });
  }
};

}  // namespace

}  // namespace fattn::tilegpu
