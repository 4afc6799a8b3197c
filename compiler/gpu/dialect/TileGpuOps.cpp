// SPDX-License-Identifier: Apache-2.0
// Verifiers and folds of the operations on tiles in registers; BufferOps.cpp has those on shared memory.
#include "compiler/dialect/Verify.h"
#include "compiler/gpu/dialect/Verify.h"
#include "compiler/layout/F2.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/gpu/dialect/TileGpuOps.cpp.inc"

namespace fattn::tilegpu {

using layout::kLane, layout::kRegister, layout::kWarp;

LogicalResult verifyHome(Operation* op, Type type) {
  if (layoutOf(type)) return success();
  return op->emitOpError() << "tiles must have a layout #tilegpu.regs, but got " << type;
}

LogicalResult verifySameTile(Operation* op, StringRef what, ArrayRef<int64_t> shape, Type element, ArrayRef<int64_t> otherShape,
                             Type otherElement) {
  if (shape == otherShape && element == otherElement) return success();
  return op->emitOpError() << "shape and element type of " << what << " must match, but got " << tile::formatShape(shape) << " of "
                           << element << " and " << tile::formatShape(otherShape) << " of " << otherElement;
}

LogicalResult verifyBox(Operation* op, ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape, ArrayRef<int64_t> whole) {
  if (offsets.size() != whole.size() || shape.size() != whole.size())
    return op->emitOpError() << "needs one offset for each of the " << whole.size() << " dimensions, but got " << offsets.size();
  for (auto [d, offset] : llvm::enumerate(offsets))
    if (offset < 0 || offset % shape[d] != 0 || offset + shape[d] > whole[d])
      return op->emitOpError() << "offset " << offset << " of dim " << d << " must be a multiple of the result's size " << shape[d]
                               << " there, and the box must lie within " << whole[d];
  return success();
}

LogicalResult verifyExtents(Operation* op, StringRef name, ArrayRef<int64_t> extents, ArrayRef<int64_t> shape) {
  if (extents.size() != shape.size())
    return op->emitOpError() << "needs one number in " << name << " for each of the " << shape.size() << " dimensions, but got "
                             << extents.size();
  for (auto [d, extent] : llvm::enumerate(extents))
    if (extent < 1 || extent > shape[d])
      return op->emitOpError() << name << " of dim " << d << " must be in [1, " << shape[d] << "], but got " << extent;
  return success();
}

int64_t countOf(ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  return count;
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (failed(verifyExtents(*this, "from", getFrom(), from.getShape())) || failed(verifyExtents(*this, "to", getTo(), to.getShape())))
    return failure();
  if (from.getElementType() == to.getElementType() && countOf(getFrom()) == countOf(getTo())) return success();
  return emitOpError() << "input and result must have as many elements of one type, but have " << tile::formatShape(getFrom()) << " of "
                       << from.getElementType() << " and " << tile::formatShape(getTo()) << " of " << to.getElementType();
}

static LogicalResult verifySameThreads(Operation* op, Type from, Type to) {
  for (std::string_view in : {kLane, kWarp})
    if (layoutOf(from)->inputSize(in) != layoutOf(to)->inputSize(in))
      return op->emitOpError() << "input and result must have the same number of " << in << "s, but have " << layoutOf(from)->inputSize(in)
                               << " and " << layoutOf(to)->inputSize(in);
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (failed(verifyHome(*this, from)) || failed(verifyHome(*this, to))) return failure();
  if (failed(verifySameTile(*this, "input and result", from.getShape(), from.getElementType(), to.getShape(), to.getElementType())))
    return failure();
  return verifySameThreads(*this, from, to);
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (auto inner = getInput().getDefiningOp<ConvertLayoutOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return getInput().getType() == getResult().getType() ? getInput() : OpFoldResult();
}

namespace {

/// Which elements each thread holds: the bits of the linear parts of register, lane and warp xor, their odd copies add.
class Holdings {
 public:
  /// Elements are numbered in row-major order in a tile of `shape`, counted from `offsets`.
  Holdings(const layout::LinearLayout& layout, ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets) : shape_(shape), offsets_(offsets) {
    for (const layout::Axis& axis : layout.outputs()) masks_.push_back((int64_t{1} << axis.bits) - 1);
    for (auto [in, parts] : {std::pair{kRegister, &registers_}, {kLane, &lanes_}, {kWarp, &warps_}})
      for (int64_t i = 0; i < layout.inputSize(in); ++i) parts->push_back(layout.at({{in, i}}));
  }
  size_t threads() const { return lanes_.size() * warps_.size(); }
  llvm::SmallDenseSet<int64_t, 64> of(size_t thread) const {
    const layout::Coords &lane = lanes_[thread % lanes_.size()], &warp = warps_[thread / lanes_.size()];
    llvm::SmallDenseSet<int64_t, 64> elements;
    for (const layout::Coords& reg : registers_) {
      int64_t number = 0;
      for (auto [d, mask] : llvm::enumerate(masks_)) {
        int64_t low = (reg[d] ^ lane[d] ^ warp[d]) & mask, high = (reg[d] & ~mask) + (lane[d] & ~mask) + (warp[d] & ~mask);
        number = number * shape_[d] + low + high + offsets_[d];
      }
      elements.insert(number);
    }
    return elements;
  }

 private:
  ArrayRef<int64_t> shape_, offsets_;
  SmallVector<int64_t> masks_;  ///< of a dimension's linear part
  std::vector<layout::Coords> registers_, lanes_, warps_;
};

}  // namespace

/// Whether every thread holds, of `from`, the elements at `offsets` from those it holds of `box`. The box is aligned to its size, so that
/// adding the offset is an xor: without odd copies the bases say it all.
static bool holdsBox(const layout::LinearLayout& from, const layout::LinearLayout& box, ArrayRef<int64_t> offsets) {
  if (!from.repeats().empty() || !box.repeats().empty()) {
    layout::Coords shape = from.outputShape(), zeros(shape.size());
    Holdings all(from, shape, zeros), part(box, shape, offsets);
    for (size_t thread = 0; thread < all.threads(); ++thread) {
      auto own = all.of(thread);
      if (!llvm::all_of(part.of(thread), [&](int64_t element) { return own.contains(element); })) return false;
    }
    return true;
  }
  auto packed = [&](const layout::Coords& at) {
    layout::f2::Vector bits = 0;
    unsigned shift = 0;
    for (auto [d, coordinate] : llvm::enumerate(at)) {
      bits |= static_cast<layout::f2::Vector>(coordinate) << shift;
      shift += static_cast<unsigned>(from.outputs()[d].bits);
    }
    return bits;
  };
  layout::f2::Span own(from.columns(kRegister));
  if (!own.contains(packed(layout::Coords(offsets.begin(), offsets.end())))) return false;
  for (std::string_view in : {kRegister, kLane, kWarp})
    for (int bit = 0; bit < box.inputBits(in); ++bit) {
      layout::f2::Vector of = packed(box.at({{in, int64_t{1} << bit}}));
      if (in != kRegister) of ^= packed(from.at({{in, int64_t{1} << bit}}));
      if (!own.contains(of)) return false;
    }
  return true;
}

LogicalResult SliceOp::verify() {
  if (failed(verifyHome(*this, getInput().getType())) || failed(verifyHome(*this, getResult().getType()))) return failure();
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "element types of input and result must match, but got " << from.getElementType() << " and "
                         << to.getElementType();
  if (failed(verifySameThreads(*this, from, to))) return failure();
  if (failed(verifyBox(*this, getOffsets(), to.getShape(), from.getShape()))) return failure();
  if (holdsBox(*layoutOf(from), *layoutOf(to), getOffsets())) return success();
  return emitOpError()
         << "needs elements of other threads: a thread that holds element j of the result must hold element offsets + j of the "
            "input, whose layout is "
         << layoutOf(from)->str();
}

/// The shape of an operand that lies in shared memory.
static SmallVector<int64_t> operandShape(BufferType buffer, bool transposed) {
  SmallVector<int64_t> shape(buffer.getShape());
  if (transposed) std::reverse(shape.begin(), shape.end());
  return shape;
}

/// Where a loop carries the operand: what the trips see, and the loop's result.
static SmallVector<Value, 2> carriedAs(OpOperand& use) {
  Operation* owner = use.getOwner();
  auto around = dyn_cast<LoopLikeOpInterface>(owner->hasTrait<OpTrait::IsTerminator>() ? owner->getParentOp() : owner);
  if (!around || around->getNumRegions() != 1) return {};
  for (auto [i, argument] : llvm::enumerate(around.getRegionIterArgs()))
    if (&around.getInitsMutable()[i] == &use || &(*around.getYieldedValuesMutable())[i] == &use) return {argument, around->getResult(i)};
  return {};
}

/// What uses a dot in flight, or what a loop carries of it, otherwise than to wait for it, or as a dot's accumulator; null where nothing
/// does.
static Operation* otherUser(Value inFlight) {
  llvm::SmallSetVector<Value, 4> names;
  names.insert(inFlight);
  for (size_t i = 0; i < names.size(); ++i)
    for (OpOperand& use : names[i].getUses()) {
      Operation* user = use.getOwner();
      auto dot = dyn_cast<DotAsyncOp>(user);
      if (isa<DotWaitOp>(user) || (dot && use.get() == dot.getAcc())) continue;
      SmallVector<Value, 2> carried = carriedAs(use);
      if (carried.empty()) return user;
      names.insert(carried.begin(), carried.end());
    }
  return nullptr;
}

DotAsyncOp dotOf(Value value) {
  if (auto dot = value.getDefiningOp<DotAsyncOp>()) return dot;
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = dyn_cast_or_null<LoopLikeOpInterface>(argument ? argument.getOwner()->getParentOp() : value.getDefiningOp());
  if (!loop || loop->getNumRegions() != 1) return {};
  for (auto [i, carried] : llvm::enumerate(loop.getRegionIterArgs()))
    if (value == carried || value == loop->getResult(i)) return loop.getYieldedValues()[i].getDefiningOp<DotAsyncOp>();
  return {};
}

SmallVector<DotAsyncOp::Factors, 2> DotAsyncOp::factors() {
  SmallVector<Factors, 2> result = {{getA(), getASlot(), getB(), getBSlot()}};
  OperandRange others = getOthers();
  for (size_t i = 0; i + 3 < others.size(); i += 4) result.push_back({others[i], others[i + 1], others[i + 2], others[i + 3]});
  return result;
}

/// C5.
static LogicalResult verifyOthers(DotAsyncOp dot) {
  const SmallVector<DotAsyncOp::Factors, 2> factors = dot.factors();
  bool legal = dot.getOthers().size() == 4 * (factors.size() - 1) && dot.getASlot();
  auto isLike = [](Value one, Value other) {
    auto a = dyn_cast<BufferType>(one.getType()), b = dyn_cast<BufferType>(other.getType());
    return a && b && a.withSlots(b.getSlots()) == b;
  };
  for (const DotAsyncOp::Factors& group : factors) {
    legal &= isLike(group.a, dot.getA()) && isLike(group.b, dot.getB());
    legal &= group.slotOfA && group.slotOfA.getType().isInteger(32) && group.slotOfB.getType().isInteger(32);
  }
  if (legal) return success();
  return dot.emitOpError() << "needs a buffer like a, a slot, a buffer like b and a slot for each further group, but has "
                           << dot.getOthers().getTypes();
}

LogicalResult DotAsyncOp::verify() {
  auto bufferA = dyn_cast<BufferType>(getA().getType());
  if (!bufferA && failed(verifyHome(*this, getA().getType()))) return failure();
  if (failed(verifyHome(*this, getAcc().getType()))) return failure();
  if (static_cast<bool>(bufferA) != static_cast<bool>(getASlot()))
    return emitOpError() << "needs a slot for a exactly if it is a buffer, but it is " << getA().getType();
  if (!getInstruction().getSharedB() || getInstruction().getSharedA() != static_cast<bool>(bufferA))
    return emitOpError() << "has an instruction that reads other operands from shared memory: " << getInstruction();
  if (!bufferA && getTransposedA()) return emitOpError() << "has transposed_a, which is for a buffer, but a is " << getA().getType();
  SmallVector<int64_t> a =
      bufferA ? operandShape(bufferA, getTransposedA()) : llvm::to_vector(cast<ShapedType>(getA().getType()).getShape());
  SmallVector<int64_t> b = operandShape(getB().getType(), getTransposedB());
  ArrayRef<int64_t> c = getAcc().getType().getShape();
  if (!getOthers().empty()) {
    if (failed(verifyOthers(*this))) return failure();
    a.front() *= static_cast<int64_t>(factors().size());
  }
  if (a.size() != 2 || b.size() != 2 || c.size() != 2 || a[1] != b[0] || c[0] != a[0] || c[1] != b[1])
    return emitOpError() << "needs a of m x k, b of k x n and acc of m x n, but got " << tile::formatShape(a) << ", "
                         << tile::formatShape(b) << " and " << tile::formatShape(c);
  if (Operation* user = otherUser(getResult()))
    return emitOpError() << "is in flight until tilegpu.dot_wait, but its result is used by " << user->getName();
  return success();
}

LogicalResult DotWaitOp::verify() {
  if (dotOf(getValue())) return success();
  return emitOpError() << "waits for the result of tilegpu.dot_async, but got another value";
}

}  // namespace fattn::tilegpu
