// SPDX-License-Identifier: Apache-2.0
// Verifiers of the `tile` operations on pointers and memory.
#include "compiler/dialect/Tile.h"
#include "compiler/dialect/Verify.h"

using namespace mlir;

namespace fattn::tile {

static Type getPointee(Type ptrLike) { return cast<PtrType>(getElementTypeOrSelf(ptrLike)).getPointee(); }

//===-- Pointers ------------------------------------------------------------------------------------------------===//

LogicalResult MakeBlockPtrOp::verify() {
  BlockPtrType type = getResult().getType();
  if (type.getElementType() != getPointee(getBase().getType()))
    return emitOpError() << "element type of the result must be the pointee of base, but got " << type.getElementType() << " and "
                         << getPointee(getBase().getType());
  for (auto [name, operands] : {std::pair("shape", getShape()), std::pair("strides", getStrides()), std::pair("offsets", getOffsets())})
    if (static_cast<int64_t>(operands.size()) != type.getRank())
      return emitOpError() << name << " must have " << type.getRank() << " operands for a block pointer of shape "
                           << formatShape(type.getShape()) << ", but has " << operands.size();
  return success();
}

LogicalResult AdvanceOp::verify() {
  BlockPtrType type = getPtr().getType();
  if (static_cast<int64_t>(getDeltas().size()) == type.getRank()) return success();
  return emitOpError() << "needs " << type.getRank() << " deltas for a block pointer of shape " << formatShape(type.getShape())
                       << ", but got " << getDeltas().size();
}

/// `what` must have the shape of the pointers, or be a scalar where they are one.
static LogicalResult verifyShapeLikePtr(Operation* op, Type ptr, StringRef what, Type type) {
  if (isTile(ptr) == isTile(type) && getShapeOrScalar(ptr) == getShapeOrScalar(type)) return success();
  if (!isTile(ptr)) return op->emitOpError() << what << " must be a scalar as ptr is one, but got " << type;
  return op->emitOpError() << what << " must be a tile of shape " << formatShape(getShapeOrScalar(ptr)) << " as ptr is, but got " << type;
}

static LogicalResult verifyValueLikePtr(Operation* op, Type ptr, StringRef what, Type type) {
  if (failed(verifyShapeLikePtr(op, ptr, what, type))) return failure();
  if (getElementTypeOrSelf(type) == getPointee(ptr)) return success();
  return op->emitOpError() << "element type of " << what << " must be the pointee " << getPointee(ptr) << ", but got "
                           << getElementTypeOrSelf(type);
}

static LogicalResult verifyMask(Operation* op, Type ptr, Value mask) {
  if (!mask) return success();
  if (failed(verifyShapeLikePtr(op, ptr, "mask", mask.getType()))) return failure();
  if (getElementTypeOrSelf(mask.getType()).isSignlessInteger(1)) return success();
  return op->emitOpError() << "elements of mask must be i1, but got " << getElementTypeOrSelf(mask.getType());
}

LogicalResult AddPtrOp::verify() {
  Type element = getElementTypeOrSelf(getOffset().getType());
  if (!isCountType(element)) return emitOpError() << "elements of offset must be integers of at least 8 bits or index, but got " << element;
  return verifyShapeLikePtr(*this, getPtr().getType(), "offset", getOffset().getType());
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

/// Shape and element type; where the tile lives (its encoding) is not the block pointer's matter.
static LogicalResult verifyTile(Operation* op, BlockPtrType ptr, StringRef what, Type type) {
  auto tile = cast<RankedTensorType>(type);
  if (tile.getShape() == ptr.getShape() && tile.getElementType() == ptr.getElementType()) return success();
  return op->emitOpError() << what << " must be the block pointer's tile " << ptr.getTileType() << ", but got " << type;
}

static LogicalResult verifyBoundaryCheck(Operation* op, BlockPtrType ptr, ArrayRef<int64_t> dims) {
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= ptr.getRank())
      return op->emitOpError() << "boundary_check must name dimensions in [0, " << ptr.getRank() - 1 << "], but got " << dim;
    if (llvm::is_contained(dims.take_front(i), dim)) return op->emitOpError() << "boundary_check names dimension " << dim << " twice";
  }
  return success();
}

LogicalResult LoadOp::verify() {
  BlockPtrType ptr = getPtr().getType();
  if (failed(verifyTile(*this, ptr, "result", getResult().getType())) || failed(verifyBoundaryCheck(*this, ptr, getBoundaryCheck())))
    return failure();
  std::optional<Attribute> padding = getPadding();
  if (!padding) return success();
  auto typed = dyn_cast<TypedAttr>(*padding);
  if (typed && isa<IntegerAttr, FloatAttr>(*padding) && typed.getType() == ptr.getElementType()) return success();
  return emitOpError() << "padding must be a number of the element type " << ptr.getElementType() << ", but got " << *padding;
}

LogicalResult StoreOp::verify() {
  BlockPtrType ptr = getPtr().getType();
  if (failed(verifyTile(*this, ptr, "value", getValue().getType()))) return failure();
  return verifyBoundaryCheck(*this, ptr, getBoundaryCheck());
}

/// The element types that additions to memory know.
static LogicalResult verifyAddable(Operation* op, Type element) {
  bool legal =
      isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element) || element.isSignlessInteger(32) || element.isSignlessInteger(64);
  if (legal) return success();
  return op->emitOpError() << "element type must be one of i32, i64, f16, bf16, f32, f64, but got " << element;
}

LogicalResult AccumulateOp::verify() {
  BlockPtrType ptr = getPtr().getType();
  if (failed(verifyAddable(*this, ptr.getElementType())) || failed(verifyTile(*this, ptr, "value", getValue().getType()))) return failure();
  return verifyBoundaryCheck(*this, ptr, getBoundaryCheck());
}

LogicalResult GatherOp::verify() {
  Type ptr = getPtr().getType(), result = getResult().getType();
  if (failed(verifyValueLikePtr(*this, ptr, "result", result)) || failed(verifyMask(*this, ptr, getMask()))) return failure();
  if (!getOther()) return success();
  if (!getMask()) return emitOpError() << "other needs a mask";
  if (getOther().getType() == result) return success();
  return emitOpError() << "other must have the type of the result " << result << ", but got " << getOther().getType();
}

LogicalResult ScatterOp::verify() {
  Type ptr = getPtr().getType();
  if (failed(verifyValueLikePtr(*this, ptr, "value", getValue().getType()))) return failure();
  return verifyMask(*this, ptr, getMask());
}

LogicalResult AtomicAddOp::verify() {
  Type ptr = getPtr().getType(), element = getPointee(ptr);
  if (failed(verifyAddable(*this, element)) || failed(verifyValueLikePtr(*this, ptr, "value", getValue().getType())) ||
      failed(verifyValueLikePtr(*this, ptr, "result", getResult().getType())))
    return failure();
  return verifyMask(*this, ptr, getMask());
}

}  // namespace fattn::tile
