// SPDX-License-Identifier: Apache-2.0
// Takes a side of select_lazy where its condition is known. In the trip that runs in front of a loop the values that the loop carries are
// what they start from, and numbers that start at infinity decide:
//
//   %m = constant dense<-inf>                               %m = constant dense<-inf>
//   %p = exp2 (%s - %m)              // inf or NaN          %z = (the exact side)
//   %l = reduce add %p               // inf or NaN
//   %c = not (%l < 1.0)              // true          =>
//   %z = select_lazy %c usual(%p) { exact }
//
// What is known of a tile are the kinds of numbers that its elements may be: finite ones, each infinity, NaN; of conditions, whether they
// may hold and may not. Exponentials of -inf are 0, and so is what they weight of a sum that starts at 0: the first trip then has nothing
// to bring to the new reference. Test: tests/lit/gpu/fold-lazy.mlir.
#include "compiler/dialect/Tile.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/passes/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_FOLDLAZYPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Kinds of numbers, as a set; of conditions kFalse and kTrue.
using Kinds = unsigned;
constexpr Kinds kFinite = 1, kPositive = 2, kNegative = 4, kNaN = 8, kFalse = 16, kTrue = 32;  // kPositive, kNegative: the infinities
constexpr Kinds kAnyNumber = kFinite | kPositive | kNegative | kNaN, kAnyTruth = kFalse | kTrue;
constexpr int kMostDepth = 64;

Kinds sumOf(Kinds a, Kinds b) {
  auto one = [](Kinds x, Kinds y) -> Kinds {
    if ((x | y) & kNaN) return kNaN;
    if (x == y) return x == kFinite ? kFinite | kPositive | kNegative : x;  // finite ones may overflow
    return x == kFinite ? y : y == kFinite ? x : kNaN;
  };
  Kinds result = 0;
  for (Kinds x : {kFinite, kPositive, kNegative, kNaN})
    for (Kinds y : {kFinite, kPositive, kNegative, kNaN})
      if ((a & x) && (b & y)) result |= one(x, y);
  return result;
}

Kinds negated(Kinds a) { return (a & ~(kPositive | kNegative)) | (a & kPositive ? kNegative : 0) | (a & kNegative ? kPositive : 0); }
Kinds inverted(Kinds a) { return (a & kTrue ? kFalse : 0) | (a & kFalse ? kTrue : 0); }

/// The larger one, or the one that is no NaN.
Kinds largerOf(Kinds a, Kinds b) {
  auto one = [](Kinds x, Kinds y) -> Kinds {
    if (x == kNaN || y == kNaN) return x == kNaN ? y : x;
    if (x == kPositive || y == kPositive) return kPositive;
    return x == kFinite || y == kFinite ? kFinite : kNegative;
  };
  Kinds result = 0;
  for (Kinds x : {kFinite, kPositive, kNegative, kNaN})
    for (Kinds y : {kFinite, kPositive, kNegative, kNaN})
      if ((a & x) && (b & y)) result |= one(x, y);
  return result;
}

Kinds exponentialOf(Kinds a) {
  Kinds result = a & (kNaN | kPositive);
  if (a & kFinite) result |= kFinite | kPositive;
  if (a & kNegative) result |= kFinite;
  return result;
}

/// a < b, or a <= b, where NaN is on no side.
Kinds lessThan(Kinds a, Kinds b, bool orEqual) {
  bool never = !(a & ~(kNaN | (orEqual ? 0 : kPositive))) || !(b & ~(kNaN | (orEqual ? 0 : kNegative)));
  return never ? kFalse : kAnyTruth;
}

Kinds comparison(arith::CmpFPredicate predicate, Kinds a, Kinds b) {
  switch (predicate) {
    case arith::CmpFPredicate::OLT:
      return lessThan(a, b, false);
    case arith::CmpFPredicate::OLE:
      return lessThan(a, b, true);
    case arith::CmpFPredicate::OGT:
      return lessThan(b, a, false);
    case arith::CmpFPredicate::OGE:
      return lessThan(b, a, true);
    case arith::CmpFPredicate::UGE:
      return inverted(lessThan(a, b, false));
    case arith::CmpFPredicate::UGT:
      return inverted(lessThan(a, b, true));
    case arith::CmpFPredicate::ULE:
      return inverted(lessThan(b, a, false));
    case arith::CmpFPredicate::ULT:
      return inverted(lessThan(b, a, true));
    default:
      return kAnyTruth;
  }
}

class Analysis {
 public:
  Kinds of(Value value, int depth = 0) {
    Type element = getElementTypeOrSelf(value.getType());
    Kinds any = isa<FloatType>(element) ? kAnyNumber : kAnyTruth;
    if ((!isa<FloatType>(element) && !element.isInteger(1)) || depth > kMostDepth) return any;
    auto [known, fresh] = known_.try_emplace(value, any);
    if (!fresh) return known->second;
    Operation* op = value.getDefiningOp();
    Kinds result = op ? ofOperation(op, value, any, depth + 1) : any;
    return known_[value] = result;
  }

 private:
  Kinds ofOperation(Operation* op, Value value, Kinds any, int depth) {
    auto operand = [&](unsigned i) { return of(op->getOperand(i), depth); };
    if (op->hasTrait<tile::MovesElements>()) return operand(0);
    return llvm::TypeSwitch<Operation*, Kinds>(op)
        .Case([&](arith::ConstantOp constant) { return ofConstant(constant, any); })
        .Case([&](arith::NegFOp) { return negated(operand(0)); })
        .Case([&](arith::AddFOp) { return sumOf(operand(0), operand(1)); })
        .Case([&](arith::SubFOp) { return sumOf(operand(0), negated(operand(1))); })
        .Case([&](arith::MaxNumFOp) { return largerOf(operand(0), operand(1)); })
        .Case([&](math::FmaOp) { return sumOf(kAnyNumber, operand(2)); })
        .Case([&](math::Exp2Op) { return exponentialOf(operand(0)); })
        .Case([&](arith::SelectOp select) { return of(select.getTrueValue(), depth) | of(select.getFalseValue(), depth); })
        .Case([&](arith::CmpFOp compare) { return comparison(compare.getPredicate(), operand(0), operand(1)); })
        .Case([&](arith::XOrIOp) { return truth(operand(0), operand(1), [](bool a, bool b) { return a != b; }); })
        .Case([&](arith::OrIOp) { return truth(operand(0), operand(1), [](bool a, bool b) { return a || b; }); })
        .Case([&](arith::AndIOp) { return truth(operand(0), operand(1), [](bool a, bool b) { return a && b; }); })
        .Case([&](tile::ReduceOp reduce) { return ofReduce(reduce, value, any, depth); })
        .Case([&](scf::IfOp branch) {
          unsigned number = cast<OpResult>(value).getResultNumber();
          return of(branch.thenYield().getOperand(number), depth) | of(branch.elseYield().getOperand(number), depth);
        })
        .Default([&](Operation*) { return any; });
  }

  static Kinds ofConstant(arith::ConstantOp constant, Kinds any) {
    Attribute value = constant.getValue();
    if (auto elements = dyn_cast<DenseElementsAttr>(value)) {
      if (!elements.isSplat()) return any;
      value = elements.getSplatValue<Attribute>();
    }
    if (auto number = dyn_cast<FloatAttr>(value)) {
      APFloat of = number.getValue();
      return of.isNaN() ? kNaN : !of.isInfinity() ? kFinite : of.isNegative() ? kNegative : kPositive;
    }
    if (auto number = dyn_cast<IntegerAttr>(value)) return number.getValue().isZero() ? kFalse : kTrue;
    return any;
  }

  template <typename Function>
  static Kinds truth(Kinds a, Kinds b, Function function) {
    Kinds result = 0;
    for (bool left : {false, true})
      for (bool right : {false, true})
        if ((a & (left ? kTrue : kFalse)) && (b & (right ? kTrue : kFalse))) result |= function(left, right) ? kTrue : kFalse;
    return result;
  }

  /// Of elements combined any number of times.
  Kinds ofReduce(tile::ReduceOp reduce, Value value, Kinds any, int depth) {
    Operation* combination = combinationOf(reduce);
    if (!combination || reduce.getInputs().size() != 1) return any;
    Kinds one = of(reduce.getInputs().front(), depth), all = one;
    if (isa<arith::AddFOp>(combination))
      for (Kinds before = 0; before != all;) before = all, all |= sumOf(all, one);
    else if (!isa<arith::OrIOp, arith::AndIOp, arith::MaximumFOp, arith::MinimumFOp>(combination))
      return any;
    return all;
  }

  llvm::DenseMap<Value, Kinds> known_;
};

void take(tile::SelectLazyOp lazy, bool exact) {
  SmallVector<Value> results(lazy.getUsual());
  if (exact) {
    Block& side = lazy.getExact().front();
    results.assign(side.getTerminator()->getOperands().begin(), side.getTerminator()->getOperands().end());
    for (Operation& op : llvm::make_early_inc_range(side.without_terminator())) op.moveBefore(lazy);
  }
  lazy->replaceAllUsesWith(results);
  lazy->erase();
}

/// What becomes a constant where one operand is one, and what follows from that.
void foldInto(llvm::SetVector<Operation*> open) {
  while (!open.empty()) {
    Operation* op = open.pop_back_val();
    OpBuilder b(op);
    SmallVector<Value> folded;
    if (failed(b.tryFold(op, folded)) || folded.empty()) continue;
    open.insert(op->user_begin(), op->user_end());
    op->replaceAllUsesWith(folded);
    op->erase();
  }
}

/// exp2 of what is -inf for sure, and what follows from it.
void foldExponentials(Operation* root) {
  Analysis analysis;
  SmallVector<math::Exp2Op> zeros;
  root->walk([&](math::Exp2Op exp) {
    if (analysis.of(exp.getOperand()) == kNegative) zeros.push_back(exp);
  });
  llvm::SetVector<Operation*> users;
  for (math::Exp2Op exp : zeros) {
    OpBuilder b(exp);
    Value zero = arith::ConstantOp::create(b, exp.getLoc(), b.getZeroAttr(exp.getType()));
    users.insert(exp->user_begin(), exp->user_end());
    users.remove(exp);
    exp->replaceAllUsesWith(ValueRange{zero});
    exp->erase();
  }
  foldInto(std::move(users));
}

class FoldLazyPass : public impl::FoldLazyPassBase<FoldLazyPass> {
 public:
  void runOnOperation() override {
    SmallVector<std::pair<tile::SelectLazyOp, bool>> known;
    Analysis analysis;
    getOperation().walk([&](tile::SelectLazyOp lazy) {
      Kinds condition = analysis.of(lazy.getCondition());
      if (condition == kTrue || condition == kFalse) known.emplace_back(lazy, condition == kTrue);
    });
    for (auto [lazy, exact] : known) take(lazy, exact);
    if (!known.empty()) foldExponentials(getOperation());
  }
};

}  // namespace

}  // namespace fattn::tilegpu
