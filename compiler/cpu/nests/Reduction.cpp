// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/nests/Reduction.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::cpu {

ReductionKind reductionKind(tile::ReduceOp op) {
  Block& block = op.getCombine().front();
  if (op.getInputs().size() != 1 || !llvm::hasSingleElement(block.without_terminator())) return ReductionKind::Custom;
  Operation& inner = block.front();
  bool plain = inner.getNumOperands() == 2 && llvm::is_contained(inner.getOperands(), block.getArgument(0)) &&
               llvm::is_contained(inner.getOperands(), block.getArgument(1)) && block.getTerminator()->getOperand(0) == inner.getResult(0);
  if (!plain) return ReductionKind::Custom;
  return TypeSwitch<Operation*, ReductionKind>(&inner)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return ReductionKind::Add; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return ReductionKind::Mul; })
      .Case<arith::MaxNumFOp, arith::MaximumFOp>([](auto) { return ReductionKind::Max; })
      .Case<arith::MinNumFOp, arith::MinimumFOp>([](auto) { return ReductionKind::Min; })
      .Case<arith::MaxSIOp>([](auto) { return ReductionKind::MaxSigned; })
      .Case<arith::MinSIOp>([](auto) { return ReductionKind::MinSigned; })
      .Case<arith::MaxUIOp>([](auto) { return ReductionKind::MaxUnsigned; })
      .Case<arith::MinUIOp>([](auto) { return ReductionKind::MinUnsigned; })
      .Case<arith::AndIOp>([](auto) { return ReductionKind::And; })
      .Case<arith::OrIOp>([](auto) { return ReductionKind::Or; })
      .Case<arith::XOrIOp>([](auto) { return ReductionKind::Xor; })
      .Default([](Operation*) { return ReductionKind::Custom; });
}

TypedAttr identityOf(ReductionKind kind, Type element) {
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics& s = type.getFloatSemantics();
    bool infinite = APFloat::semanticsHasInf(s);
    switch (kind) {
      case ReductionKind::Mul:
        return FloatAttr::get(type, 1.0);
      case ReductionKind::Max:
        return FloatAttr::get(type, infinite ? APFloat::getInf(s, true) : APFloat::getLargest(s, true));
      case ReductionKind::Min:
        return FloatAttr::get(type, infinite ? APFloat::getInf(s) : APFloat::getLargest(s));
      default:
        return FloatAttr::get(type, APFloat::getZero(s, true));  // -0.0 + x is x, also for x = -0.0
    }
  }
  unsigned bits = element.getIntOrFloatBitWidth();
  switch (kind) {
    case ReductionKind::Mul:
      return IntegerAttr::get(element, APInt(bits, 1));
    case ReductionKind::MaxSigned:
      return IntegerAttr::get(element, APInt::getSignedMinValue(bits));
    case ReductionKind::MinSigned:
      return IntegerAttr::get(element, APInt::getSignedMaxValue(bits));
    case ReductionKind::And:
    case ReductionKind::MinUnsigned:
      return IntegerAttr::get(element, APInt::getAllOnes(bits));
    default:
      return IntegerAttr::get(element, APInt::getZero(bits));
  }
}

}  // namespace fattn::cpu
