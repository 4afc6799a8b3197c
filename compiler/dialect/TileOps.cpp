// SPDX-License-Identifier: Apache-2.0
// Verifiers and builders of the `tile` operations that work on tiles; those of pointers and memory are in TileMemoryOps.cpp.
#include "compiler/dialect/Tile.h"
#include "compiler/dialect/Verify.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/dialect/TileOps.cpp.inc"

namespace fattn::tile {

std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text = "(";
  for (auto [i, size] : llvm::enumerate(shape)) text += (i ? ", " : "") + std::to_string(size);
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// Input and result of an op that only moves elements.
static LogicalResult verifySameElements(Operation* op, Type input, Type result) {
  Type from = getElementTypeOrSelf(input), to = getElementTypeOrSelf(result);
  if (from == to) return success();
  return op->emitOpError() << "element types of input and result must match, but got " << from << " and " << to;
}

static LogicalResult verifyResultShape(Operation* op, Type result, ArrayRef<int64_t> expected, const Twine& why) {
  ArrayRef<int64_t> shape = getShapeOrScalar(result);
  if (isTile(result) && shape == expected) return success();
  return op->emitOpError() << "result shape must be " << formatShape(expected) << " (" << why << "), but got " << formatShape(shape);
}

static LogicalResult verifyAxis(Operation* op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank) return success();
  if (rank == 0) return op->emitOpError() << "axis must name a dimension of the input, but the input has rank 0";
  return op->emitOpError() << "axis must be in [0, " << rank - 1 << "] for an input of rank " << rank << ", but got " << axis;
}

//===-- Shape ---------------------------------------------------------------------------------------------------===//

LogicalResult ArangeOp::verify() {
  RankedTensorType type = getResult().getType();
  if (type.getRank() != 1) return emitOpError() << "result must have one dimension, but got shape " << formatShape(type.getShape());
  if (!isCountType(type.getElementType()))
    return emitOpError() << "result elements must be integers of at least 8 bits or index, but got " << type.getElementType();
  unsigned bits = type.getElementType().isIndex() ? 64 : type.getElementType().getIntOrFloatBitWidth();
  APInt first(128, static_cast<uint64_t>(getStart()), /*isSigned=*/true);
  APInt last = first + APInt(128, type.getDimSize(0) - 1);
  if (first.isSignedIntN(bits) && last.isSignedIntN(bits)) return success();
  return emitOpError() << "values " << getStart() << " .. " << llvm::toString(last, 10, /*Signed=*/true) << " must fit "
                       << type.getElementType();
}

LogicalResult SplatOp::verify() {
  if (!getShapeOrScalar(getInput().getType()).empty())
    return emitOpError() << "input must be a scalar or a tile of rank 0, but got shape "
                         << formatShape(getShapeOrScalar(getInput().getType())) << "; tile.broadcast repeats dimensions of a tile";
  return verifySameElements(*this, getInput().getType(), getResult().getType());
}

LogicalResult UnsplatOp::verify() {
  RankedTensorType from = getInput().getType();
  if (from.getNumElements() != 1)
    return emitOpError() << "input must have one element, but got shape " << formatShape(from.getShape())
                         << "; tile.reduce makes one of several";
  return verifySameElements(*this, from, getResult().getType());
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (failed(verifySameElements(*this, from, to))) return failure();
  if (from.getRank() != to.getRank())
    return emitOpError() << "ranks of input and result must match, but got input shape " << formatShape(from.getShape())
                         << " and result shape " << formatShape(to.getShape()) << "; tile.expand_dims adds dimensions";
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (from.getDimSize(dim) != 1 && from.getDimSize(dim) != to.getDimSize(dim))
      return emitOpError() << "dim " << dim << " of input (" << from.getDimSize(dim) << ") must be 1 or dim " << dim << " of result ("
                           << to.getDimSize(dim) << "), but got input shape " << formatShape(from.getShape()) << " and result shape "
                           << formatShape(to.getShape());
  return success();
}

static SmallVector<int64_t> expandedShape(RankedTensorType input, int64_t axis) {
  SmallVector<int64_t> shape(input.getShape());
  shape.insert(shape.begin() + axis, 1);
  return shape;
}

LogicalResult ExpandDimsOp::verify() {
  RankedTensorType input = getInput().getType();
  int64_t axis = static_cast<int64_t>(getAxis());
  if (axis < 0 || axis > input.getRank())
    return emitOpError() << "axis must be in [0, " << input.getRank() << "] for an input of rank " << input.getRank() << ", but got "
                         << axis;
  if (failed(verifySameElements(*this, input, getResult().getType()))) return failure();
  return verifyResultShape(*this, getResult().getType(), expandedShape(input, axis), "input with a dimension of 1 at axis " + Twine(axis));
}

void ExpandDimsOp::build(OpBuilder& builder, OperationState& state, Value input, int64_t axis) {
  auto type = cast<RankedTensorType>(input.getType());
  build(builder, state, RankedTensorType::get(expandedShape(type, axis), type.getElementType()), input, axis);
}

static SmallVector<int64_t> permutedShape(RankedTensorType input, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(permutation, [&](int64_t dim) { return input.getDimSize(dim); });
}

LogicalResult TransOp::verify() {
  RankedTensorType input = getInput().getType();
  llvm::SmallBitVector seen(input.getRank());
  for (int64_t dim : getPermutation())
    if (dim >= 0 && dim < input.getRank()) seen.set(dim);
  if (static_cast<int64_t>(getPermutation().size()) != input.getRank() || !seen.all())
    return emitOpError() << "permutation must hold each dimension of the input (rank " << input.getRank() << ") once, but got "
                         << formatShape(getPermutation());
  if (failed(verifySameElements(*this, input, getResult().getType()))) return failure();
  return verifyResultShape(*this, getResult().getType(), permutedShape(input, getPermutation()), "input dimensions permuted");
}

void TransOp::build(OpBuilder& builder, OperationState& state, Value input, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(input.getType());
  build(builder, state, RankedTensorType::get(permutedShape(type, permutation), type.getElementType()), input, permutation);
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (failed(verifySameElements(*this, from, to))) return failure();
  if (from.getNumElements() == to.getNumElements()) return success();
  return emitOpError() << "input and result must have as many elements, but got input shape " << formatShape(from.getShape()) << " ("
                       << from.getNumElements() << " elements) and result shape " << formatShape(to.getShape()) << " ("
                       << to.getNumElements() << " elements)";
}

static SmallVector<int64_t> joinedShape(RankedTensorType half) {
  SmallVector<int64_t> shape(half.getShape());
  shape.push_back(2);
  return shape;
}

LogicalResult JoinOp::verify() {
  if (failed(verifySameElements(*this, getLhs().getType(), getResult().getType()))) return failure();
  return verifyResultShape(*this, getResult().getType(), joinedShape(getLhs().getType()), "lhs with a last dimension of 2 appended");
}

void JoinOp::build(OpBuilder& builder, OperationState& state, Value lhs, Value rhs) {
  auto type = cast<RankedTensorType>(lhs.getType());
  build(builder, state, RankedTensorType::get(joinedShape(type), type.getElementType()), lhs, rhs);
}

LogicalResult SplitOp::verify() {
  RankedTensorType input = getInput().getType();
  if (input.getRank() == 0 || input.getShape().back() != 2)
    return emitOpError() << "last dimension of input must be 2, but got input shape " << formatShape(input.getShape());
  if (failed(verifySameElements(*this, input, getLhs().getType()))) return failure();
  return verifyResultShape(*this, getLhs().getType(), input.getShape().drop_back(), "input without its last dimension");
}

void SplitOp::build(OpBuilder& builder, OperationState& state, Value input) {
  auto type = cast<RankedTensorType>(input.getType());
  auto half = RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  build(builder, state, half, half, input);
}

//===-- Computation ---------------------------------------------------------------------------------------------===//

static bool isF8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

static LogicalResult verifyDotElements(DotOp op) {
  Type a = op.getA().getType().getElementType(), b = op.getB().getType().getElementType(), acc = op.getAcc().getType().getElementType();
  bool legal = isF8(a) && isF8(b) && acc.isF32();
  if (a == b) {
    legal |= (a.isF32() || a.isF16() || a.isBF16()) && acc.isF32();
    legal |= a.isF16() && acc.isF16();
    legal |= a.isSignlessInteger(8) && acc.isSignlessInteger(32);
  }
  if (legal) return success();
  return op.emitOpError() << "element types of a, b and acc must be f32, f32, f32; f16, f16, f32 or f16; bf16, bf16, f32; any of f8E4M3FN "
                             "and f8E5M2, f32; or i8, i8, i32; but got "
                          << a << ", " << b << ", " << acc;
}

LogicalResult DotOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType(), acc = getAcc().getType();
  for (auto [name, type] : {std::pair("a", a), std::pair("b", b), std::pair("acc", acc)})
    if (type.getRank() != 2) return emitOpError() << name << " must have two dimensions, but got shape " << formatShape(type.getShape());
  auto mustMatch = [&](StringRef left, RankedTensorType l, int i, StringRef right, RankedTensorType r, int j) -> LogicalResult {
    if (l.getDimSize(i) == r.getDimSize(j)) return success();
    return emitOpError() << "dim " << i << " of " << left << " (" << l.getDimSize(i) << ") and dim " << j << " of " << right << " ("
                         << r.getDimSize(j) << ") must match, but got " << left << " shape " << formatShape(l.getShape()) << " and "
                         << right << " shape " << formatShape(r.getShape());
  };
  if (failed(mustMatch("a", a, 1, "b", b, 0)) || failed(mustMatch("a", a, 0, "acc", acc, 0)) ||
      failed(mustMatch("b", b, 1, "acc", acc, 1)) || failed(verifyDotElements(*this)))
    return failure();
  if (getPrecision() == Precision::tf32 && !a.getElementType().isF32())
    return emitOpError() << "precision tf32 needs f32 operands, but got " << a.getElementType();
  return success();
}

static SmallVector<int64_t> reducedShape(RankedTensorType input, int64_t axis) {
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + axis);
  return shape;
}

LogicalResult ReduceOp::verify() {
  if (getInputs().empty()) return emitOpError() << "needs at least one input";
  auto first = cast<RankedTensorType>(getInputs()[0].getType());
  int64_t axis = static_cast<int64_t>(getAxis());
  if (failed(verifyAxis(*this, axis, first.getRank()))) return failure();
  for (auto [i, input, result] : llvm::enumerate(getInputs(), getResults())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getShape() != first.getShape())
      return emitOpError() << "inputs must have the same shape, but input 0 has shape " << formatShape(first.getShape()) << " and input "
                           << i << " has shape " << formatShape(type.getShape());
    if (failed(verifySameElements(*this, type, result.getType())) ||
        failed(verifyResultShape(*this, result.getType(), reducedShape(type, axis), "input without dimension " + Twine(axis))))
      return failure();
  }
  return success();
}

/// The region is checked after the operations in it, so that yield and the arguments can be relied on.
LogicalResult ReduceOp::verifyRegions() {
  Block& block = getCombine().front();
  SmallVector<Type> elements = llvm::map_to_vector(getInputs(), [](Value v) { return getElementTypeOrSelf(v.getType()); });
  SmallVector<Type> expected(elements);
  llvm::append_range(expected, elements);
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return emitOpError() << "region must take " << expected.size() << " scalars of types (" << expected << "), but takes ("
                         << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield) return emitOpError() << "region must end in tile.yield";
  if (!llvm::equal(yield->getOperandTypes(), elements))
    return emitOpError() << "region must yield " << elements.size() << " values of types (" << elements << "), but yields ("
                         << yield->getOperandTypes() << ")";
  for (Operation& op : block)
    if (!isMemoryEffectFree(&op))
      return emitOpError() << "region must have no side effects and read no memory, but holds '" << op.getName() << "'";
  return success();
}

void ReduceOp::build(OpBuilder& builder, OperationState& state, ValueRange inputs, int64_t axis,
                     function_ref<void(OpBuilder&, Location, ValueRange, ValueRange)> combine) {
  SmallVector<Type> elements, results;
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    elements.push_back(type.getElementType());
    results.push_back(RankedTensorType::get(reducedShape(type, axis), type.getElementType()));
  }
  build(builder, state, results, inputs, axis);
  OpBuilder::InsertionGuard guard(builder);
  size_t n = inputs.size();
  SmallVector<Type> arguments(elements);
  llvm::append_range(arguments, elements);
  Block* block = builder.createBlock(state.regions[0].get(), {}, arguments, SmallVector<Location>(arguments.size(), state.location));
  combine(builder, state.location, ValueRange(block->getArguments()).take_front(n), ValueRange(block->getArguments()).drop_front(n));
}

LogicalResult CumsumOp::verify() {
  RankedTensorType type = getInput().getType();
  if (failed(verifyAxis(*this, static_cast<int64_t>(getAxis()), type.getRank()))) return failure();
  Type element = type.getElementType();
  if (isa<FloatType>(element) || isCountType(element)) return success();
  return emitOpError() << "elements must be floating-point numbers or integers of at least 8 bits, but got " << element;
}

LogicalResult SelectLazyOp::verify() {
  Type condition = getCondition().getType();
  ArrayRef<int64_t> rows = getShapeOrScalar(condition);
  if (!getElementTypeOrSelf(condition).isSignlessInteger(1) || (isTile(condition) && rows.size() != 1))
    return emitOpError() << "condition must be i1 or a tile of i1 with one dimension, but got " << condition;
  if (getUsual().getTypes() != getResultTypes())
    return emitOpError() << "usual values and results must have the same types, but got (" << getUsual().getTypes() << ") and ("
                         << getResultTypes() << ")";
  if (rows.empty()) return success();
  for (auto [i, type] : llvm::enumerate(getResultTypes())) {
    ArrayRef<int64_t> shape = getShapeOrScalar(type);
    if (shape.empty() || shape[0] != rows[0])
      return emitOpError() << "with a condition of " << rows[0] << " rows, result " << i << " must be a tile whose dim 0 is " << rows[0]
                           << ", but got " << type;
  }
  return success();
}

/// Whether the exact side may be run speculatively: it writes nothing but debug output, and what only its own block sees.
static Operation* findWrite(Region& region) {
  Operation* found = nullptr;
  region.walk([&](Operation* op) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects || isa<DevicePrintOp>(op)) return WalkResult::advance();
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    auto writes = [](const MemoryEffects::EffectInstance& effect) {
      return isa<MemoryEffects::Write>(effect.getEffect()) && isa<SideEffects::DefaultResource>(effect.getResource());
    };
    if (llvm::none_of(instances, writes)) return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

LogicalResult SelectLazyOp::verifyRegions() {
  Block& block = getExact().front();
  if (block.getNumArguments() != 0) return emitOpError() << "region must have no arguments, but has " << block.getNumArguments();
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield) return emitOpError() << "region must end in tile.yield";
  if (!llvm::equal(yield->getOperandTypes(), getResultTypes()))
    return emitOpError() << "region must yield values of types (" << getResultTypes() << "), but yields (" << yield->getOperandTypes()
                         << ")";
  if (Operation* write = findWrite(getExact()))
    return emitOpError() << "region must not write memory, because it may run where no row needs it, but holds '" << write->getName()
                         << "'";
  return success();
}

//===-- Hints and debugging -------------------------------------------------------------------------------------===//

LogicalResult AssumeDivisibleOp::verify() {
  int64_t divisor = static_cast<int64_t>(getDivisor());
  if (divisor > 0) return success();
  return emitOpError() << "divisor must be positive, but got " << divisor;
}

LogicalResult DevicePrintOp::verify() {
  for (auto [i, value] : llvm::enumerate(getValues()))
    if (!getElementTypeOrSelf(value.getType()).isIntOrIndexOrFloat())
      return emitOpError() << "value " << i << " must be a number or a tile of numbers, but got " << value.getType();
  return success();
}

}  // namespace fattn::tile
