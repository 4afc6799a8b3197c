// SPDX-License-Identifier: Apache-2.0
// arith and math, one operation a register; on scalars too.
//
//   %z = arith.addf %x, %y : tensor<16x8xf32, #acc>        =>        z0 = arith.addf x0, y0 : f32    z1 = arith.addf x1, y1 : f32 ...
//
// - Where neighbours become 16-bit floating-point numbers, they do so in pairs: one instruction converts two.
// - A bf16 that is half of a 32-bit register becomes f32 by one instruction, a shift or a mask: it is the upper half of that f32.
// - 8-bit floating-point numbers are i8 in registers. They are computed with in f32, and rounded once: f32 has more than twice their
//   digits and two, so that the result is that of rounding the exact one.
// - Functions of math on 16-bit numbers are computed in f32.
// - `index` is i64.
// - A constant whose elements differ is a table in constant memory.
// - What is compared with the numbers of a range is made smaller by the thread's part of them, so that constants are left
// (RangeComparison).
#include "compiler/gpu/lower/Elementwise.h"

#include <map>

#include "compiler/gpu/lower/Lowering.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

using layout::kRegister, layout::LinearLayout;

Type elementOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

bool isHalf(Type element) { return element.isF16() || element.isBF16(); }

/// An index constant as i64, an fp8 constant as its bits.
TypedAttr registerConstant(Lowering& to, TypedAttr value) {
  Type type = to.registerType(value.getType());
  if (type == value.getType()) return value;
  if (auto number = dyn_cast<FloatAttr>(value))
    return to.b.getIntegerAttr(type, static_cast<int64_t>(number.getValue().bitcastToAPInt().getZExtValue()));
  return to.b.getIntegerAttr(type, cast<IntegerAttr>(value).getInt());
}

/// The elements of a constant, in row-major order, as a table in memory.
LLVM::GlobalOp tableOf(Lowering& to, arith::ConstantOp op, Type element) {
  auto module = to.b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto values = cast<DenseElementsAttr>(op.getValue());
  SmallVector<Attribute> flat;
  for (Attribute value : values.getValues<Attribute>()) flat.push_back(registerConstant(to, cast<TypedAttr>(value)));
  auto type = RankedTensorType::get({values.getNumElements()}, element);
  std::string name = "fattn_table";
  for (int i = 0; module.lookupSymbol(name); ++i) name = "fattn_table_" + std::to_string(i);
  return LLVM::GlobalOp::create(builder, op.getLoc(), LLVM::LLVMArrayType::get(element, static_cast<unsigned>(values.getNumElements())),
                                /*isConstant=*/true, LLVM::Linkage::Internal, name, DenseElementsAttr::get(type, flat),
                                /*alignment=*/0, /*addrSpace=*/4);
}

LogicalResult lowerTable(Lowering& to, arith::ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  Type element = to.registerType(type.getElementType());
  LLVM::GlobalOp table = tableOf(to, op, element);
  Value base = LLVM::AddressOfOp::create(to.b, LLVM::LLVMPointerType::get(to.b.getContext(), 4), table.getSymName());
  SmallVector<Value> threads;
  for (int d = 0; d < type.getRank(); ++d) threads.push_back(to.threadPart(layout, d));
  Registers registers;
  for (int64_t r = 0; r < layout.inputSize(kRegister); ++r) {
    layout::Coords own = Lowering::registerPart(layout, r);
    Value at = to.i32(0);
    for (int d = 0; d < type.getRank(); ++d) {
      at = arith::MulIOp::create(to.b, at, to.i32(type.getDimSize(d)));
      at = arith::AddIOp::create(to.b, at, to.combine(layout, d, threads[static_cast<size_t>(d)], own[static_cast<size_t>(d)]));
    }
    Value address = LLVM::GEPOp::create(to.b, base.getType(), element, base, ValueRange(at));
    registers.push_back(LLVM::LoadOp::create(to.b, element, address));
  }
  to.set(op.getResult(), std::move(registers));
  return success();
}

LogicalResult lowerConstant(Lowering& to, arith::ConstantOp op) {
  auto constant = [&](TypedAttr value) { return arith::ConstantOp::create(to.b, registerConstant(to, value)); };
  if (!tile::isTile(op.getType())) {
    to.setScalar(op.getResult(), constant(op.getValue()));
    return success();
  }
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense) return op.emitOpError() << "must be a dense constant to be lowered, but got " << op.getValue();
  if (!dense.isSplat()) return lowerTable(to, op);
  size_t count = static_cast<size_t>(tilegpu::layoutOf(op.getType())->inputSize(kRegister));
  to.set(op.getResult(), Registers(count, constant(cast<TypedAttr>(dense.getSplatValue<Attribute>()))));
  return success();
}

/// An integer of another width, or the same.
Value resized(Lowering& to, Value value, Type type, bool isSigned) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), into = type.getIntOrFloatBitWidth();
  if (from == into) return value;
  if (from > into) return arith::TruncIOp::create(to.b, type, value);
  if (isSigned) return arith::ExtSIOp::create(to.b, type, value);
  return arith::ExtUIOp::create(to.b, type, value);
}

/// Half of a 32-bit register, as f32; nothing where `value` is no half of one.
Value halfOfRegister(Lowering& to, Value value) {
  auto half = value.getDefiningOp<LLVM::ExtractElementOp>();
  auto pair = half ? half.getVector().getDefiningOp<LLVM::BitcastOp>() : LLVM::BitcastOp();
  APInt number;
  if (!pair || !pair.getArg().getType().isInteger(32) || !matchPattern(half.getPosition(), m_ConstantInt(&number))) return Value();
  Value bits = number == 0 ? arith::ShLIOp::create(to.b, pair.getArg(), to.i32(16)).getResult()
                           : arith::AndIOp::create(to.b, pair.getArg(), to.i32(-0x10000)).getResult();
  return arith::BitcastOp::create(to.b, to.b.getF32Type(), bits);
}

/// One operation on scalars, as the source has it on `element`s.
class Pointwise {
 public:
  Pointwise(Lowering& to, Operation* op) : to_(to), op_(op), element_(elementOf(op->getResult(0).getType())) {
    for (Type type : op->getOperandTypes()) operandElements_.push_back(elementOf(type));
  }

  LogicalResult verify() {
    bool known = isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op_->getDialect()) && op_->getNumResults() == 1;
    if (!known && !isa<ub::PoisonOp>(op_)) return op_->emitOpError() << "has no lowering for a GPU";
    if (isa<math::MathDialect>(op_->getDialect()) && element_.isF64() && !isNative())
      return op_->emitOpError() << "has no lowering on f64 for a GPU; legal are f16, bf16 and f32";
    return success();
  }

  Value operator()(ValueRange operands) {
    if (isa<ub::PoisonOp>(op_)) return LLVM::PoisonOp::create(to_.b, to_.registerType(element_));
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op_))
      return resized(to_, operands[0], to_.registerType(element_), isa<arith::IndexCastOp>(op_));
    if (isa<arith::SelectOp>(op_)) return arith::SelectOp::create(to_.b, operands[0], operands[1], operands[2]);
    if (isa<arith::BitcastOp>(op_)) {
      Type type = to_.registerType(element_);
      return operands[0].getType() == type ? operands[0] : arith::BitcastOp::create(to_.b, type, operands[0]).getResult();
    }
    SmallVector<Value> values(operands);
    for (auto [value, element] : llvm::zip(values, operandElements_)) value = widened(value, element);
    Type type = computedIn(element_);
    Value result = compute(values, type);
    if (type == element_) return result;
    if (isFloat8(element_)) return toFloat8(to_.b, result, element_);
    return element_.isIndex() ? result : arith::TruncFOp::create(to_.b, element_, result).getResult();
  }

 private:
  /// Functions that code generators have on 16- and 64-bit numbers, too.
  bool isNative() const {
    return isa<math::AbsFOp, math::FmaOp, math::CopySignOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp, math::RoundOp,
               math::SqrtOp, math::IsNaNOp, math::IsInfOp, math::IsFiniteOp, math::ClampFOp>(op_) &&
           !(isa<math::SqrtOp>(op_) && isHalf(element_));
  }

  Type computedIn(Type element) const {
    if (element.isIndex()) return to_.b.getI64Type();
    bool inF32 = isFloat8(element) || (isHalf(element) && isa<math::MathDialect>(op_->getDialect()) && !isNative());
    return inF32 ? to_.b.getF32Type() : element;
  }

  Value widened(Value value, Type element) {
    Type type = computedIn(element);
    if (isFloat8(element)) return fromFloat8(to_.b, value, element);
    if (type == value.getType()) return value;
    return arith::ExtFOp::create(to_.b, type, value);
  }

  Value compute(ValueRange operands, Type type) {
    // What is left of a conversion from or to f8 once it is computed with in f32.
    if (isa<arith::TruncFOp, arith::ExtFOp>(op_)) return converted(operands[0], type);
    if (isa<math::MathDialect>(op_->getDialect()) || isa<arith::DivFOp>(op_))
      if (Value result = to_.machine.math(to_.b, op_, operands)) return result;
    return to_.b.create(op_->getLoc(), op_->getName().getIdentifier(), operands, type, op_->getAttrs())->getResult(0);
  }

  Value converted(Value value, Type type) {
    if (value.getType() == type) return value;
    unsigned from = value.getType().getIntOrFloatBitWidth(), into = type.getIntOrFloatBitWidth();
    if (from > into) return arith::TruncFOp::create(to_.b, type, value);
    if (value.getType().isBF16() && type.isF32())
      if (Value half = halfOfRegister(to_, value)) return half;
    return arith::ExtFOp::create(to_.b, type, value);
  }

  Lowering& to_;
  Operation* op_;
  Type element_;
  SmallVector<Type, 3> operandElements_;
};

/// f32 -> f16 or bf16, two neighbours at a time.
Registers truncatePairs(Lowering& to, ArrayRef<Value> registers, Type element, bool moderate) {
  Registers result;
  for (size_t r = 0; r < registers.size(); r += 2) {
    Value pair = to.machine.truncatePair(to.b, registers[r], registers[r + 1], element, moderate);
    for (int i = 0; i < 2; ++i) result.push_back(LLVM::ExtractElementOp::create(to.b, pair, to.i32(i)));
  }
  return result;
}

/// A register's number as one of the thread and a constant.
std::pair<Value, int64_t> partsOf(Value number) {
  int64_t constant = 0;
  APInt more;
  while (auto sum = number.getDefiningOp<arith::AddIOp>()) {
    if (!matchPattern(sum.getRhs(), m_ConstantInt(&more))) break;
    constant += more.getSExtValue();
    number = sum.getLhs();
  }
  return {number, constant};
}

/// A signed comparison with the numbers of a range (tile.arange), of which a thread has t + c for several constants c: x < t + c is
/// x - t < c. Where x is the same beside many of them that is one subtraction, and no sums are kept in registers. t and c are not negative,
/// so that the difference can only be too small for an i32: it saturates, and is less than each c then.
class RangeComparison {
 public:
  static std::optional<RangeComparison> of(Lowering& to, Operation* op) {
    auto cmp = dyn_cast<arith::CmpIOp>(op);
    using enum arith::CmpIPredicate;
    if (!cmp || !to.machine.hasSaturatingDifference() || !llvm::is_contained({slt, sle, sgt, sge}, cmp.getPredicate()) ||
        !tile::isTile(cmp.getLhs().getType()))
      return std::nullopt;
    for (const bool left : {false, true}) {
      Value range = left ? cmp.getLhs() : cmp.getRhs(), other = left ? cmp.getRhs() : cmp.getLhs();
      auto source = tile::unspread(range).getDefiningOp<tile::ArangeOp>();
      if (!source || !elementOf(range.getType()).isInteger(32) || static_cast<int32_t>(source.getStart()) < 0) continue;
      RangeComparison result(cmp.getPredicate(), left);
      if (result.sees(to.registers(range), to.registers(other))) return result;
    }
    return std::nullopt;
  }

  Value operator()(Lowering& to, Value lhs, Value rhs) {
    Value number = isLeft_ ? lhs : rhs, other = isLeft_ ? rhs : lhs;
    Value& moved = moved_[other.getAsOpaquePointer()];
    if (!moved) moved = to.machine.saturatingDifference(to.b, other, thread_);
    Value constant = to.i32(partsOf(number).second);
    return arith::CmpIOp::create(to.b, predicate_, isLeft_ ? constant : moved, isLeft_ ? moved : constant);
  }

 private:
  RangeComparison(arith::CmpIPredicate predicate, bool isLeft) : predicate_(predicate), isLeft_(isLeft) {}

  /// Whether the numbers have one t, and there are fewer to compare with, but several: beside one bound for all, as that of a last block of
  /// columns, an assembler whose registers were full was seen to spill more.
  bool sees(ArrayRef<Value> numbers, ArrayRef<Value> others) {
    thread_ = partsOf(numbers.front()).first;
    auto isOfThread = [&](Value number) { return partsOf(number).first == thread_; };
    const llvm::SmallDenseSet<Value> some(others.begin(), others.end()), all(numbers.begin(), numbers.end());
    return some.size() > 1 && some.size() < all.size() && llvm::all_of(numbers, isOfThread);
  }

  arith::CmpIPredicate predicate_;
  bool isLeft_;
  Value thread_;
  std::map<void*, Value> moved_;
};

LogicalResult lowerOnTile(Lowering& to, Operation* op) {
  Value result = op->getResult(0);
  size_t count = static_cast<size_t>(tilegpu::layoutOf(result)->inputSize(kRegister));
  SmallVector<Registers, 3> operands;
  for (Value operand : op->getOperands()) {
    bool isTile = tile::isTile(operand.getType());
    if (isTile && *tilegpu::layoutOf(operand) != *tilegpu::layoutOf(result))
      return op->emitOpError() << "needs operands and results in one layout, but got " << operand.getType() << " and " << result.getType();
    operands.push_back(isTile ? to.registers(operand) : Registers(count, to.scalar(operand)));
  }
  Type element = elementOf(result.getType());
  if (isa<arith::TruncFOp>(op) && isHalf(element) && count % 2 == 0 && operands[0][0].getType().isF32()) {
    to.set(result, truncatePairs(to, operands[0], element, op->hasAttr(tile::kModerateAttr)));
    return success();
  }
  Pointwise pointwise(to, op);
  std::optional<RangeComparison> comparison = RangeComparison::of(to, op);
  // Registers with copies of one element have the same operands.
  std::map<SmallVector<void*, 3>, Value> known;
  Registers registers;
  for (size_t r = 0; r < count; ++r) {
    SmallVector<Value, 3> values;
    SmallVector<void*, 3> key;
    for (const Registers& operand : operands) {
      values.push_back(operand[r]);
      key.push_back(operand[r].getAsOpaquePointer());
    }
    Value& value = known[key];
    if (!value) value = comparison ? (*comparison)(to, values[0], values[1]) : pointwise(values);
    registers.push_back(value);
  }
  to.set(result, std::move(registers));
  return success();
}

}  // namespace

namespace {

/// A choice between two windows is one of each of their numbers.
LogicalResult lowerWindowSelect(Lowering& to, arith::SelectOp op) {
  Value condition = to.scalar(op.getCondition());
  const Window yes = to.window(op.getTrueValue()), no = to.window(op.getFalseValue());
  auto choose = [&](Value a, Value b) { return a == b ? a : arith::SelectOp::create(to.b, condition, a, b).getResult(); };
  Window result{.base = choose(yes.base, no.base), .shape = {}, .strides = {}, .offsets = {}};
  for (auto part : {&Window::shape, &Window::strides, &Window::offsets})
    for (auto [a, b] : llvm::zip(yes.*part, no.*part)) (result.*part).push_back(choose(a, b));
  to.set(op.getResult(), std::move(result));
  return success();
}

/// arith.mulsi_extended and the like: two results for each register.
LogicalResult lowerExtended(Lowering& to, Operation* op) {
  bool onTile = tile::isTile(op->getResult(0).getType());
  size_t count = onTile ? static_cast<size_t>(tilegpu::layoutOf(op->getResult(0))->inputSize(kRegister)) : 1;
  SmallVector<Registers, 2> results(op->getNumResults());
  for (size_t r = 0; r < count; ++r) {
    SmallVector<Value> operands;
    SmallVector<Type> types;
    for (Value operand : op->getOperands())
      operands.push_back(tile::isTile(operand.getType()) ? to.registers(operand)[r] : to.scalar(operand));
    for (Type type : op->getResultTypes()) types.push_back(to.registerType(elementOf(type)));
    Operation* one = to.b.create(op->getLoc(), op->getName().getIdentifier(), operands, types, op->getAttrs());
    for (auto [into, value] : llvm::zip(results, one->getResults())) into.push_back(value);
  }
  for (auto [result, registers] : llvm::zip(op->getResults(), results)) {
    if (onTile)
      to.set(result, std::move(registers));
    else
      to.setScalar(result, registers.front());
  }
  return success();
}

}  // namespace

LogicalResult lowerElementwise(Lowering& to, Operation* op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) return lowerConstant(to, constant);
  if (isa<arith::MulSIExtendedOp, arith::MulUIExtendedOp, arith::AddUIExtendedOp>(op)) return lowerExtended(to, op);
  if (op->getNumResults() == 0) return op->emitOpError() << "has no lowering for a GPU";
  if (auto select = dyn_cast<arith::SelectOp>(op); select && isa<tile::BlockPtrType>(select.getType()))
    return lowerWindowSelect(to, select);
  Pointwise pointwise(to, op);
  if (failed(pointwise.verify())) return failure();
  if (tile::isTile(op->getResult(0).getType())) return lowerOnTile(to, op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) operands.push_back(to.scalar(operand));
  to.setScalar(op->getResult(0), pointwise(operands));
  return success();
}

}  // namespace fattn::gpu
