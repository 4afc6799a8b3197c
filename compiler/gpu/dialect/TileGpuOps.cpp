// SPDX-License-Identifier: Apache-2.0
// Verifiers and folds of the `tilegpu` operations.
#include "compiler/dialect/Verify.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/gpu/dialect/TileGpuOps.cpp.inc"

namespace fattn::tilegpu {

using layout::kLane, layout::kWarp;

/// A tile with a home in registers, for messages.
static LogicalResult verifyHome(Operation* op, Type type) {
  if (layoutOf(type)) return success();
  return op->emitOpError() << "tiles must have a layout #tilegpu.regs, but got " << type;
}

static LogicalResult verifySameTile(Operation* op, StringRef what, ArrayRef<int64_t> shape, Type element, ArrayRef<int64_t> otherShape,
                                    Type otherElement) {
  if (shape == otherShape && element == otherElement) return success();
  return op->emitOpError() << "shape and element type of " << what << " must match, but got " << tile::formatShape(shape) << " of "
                           << element << " and " << tile::formatShape(otherShape) << " of " << otherElement;
}

/// A box of `shape` at `offsets` in a tile of `whole`, aligned to its own size.
static LogicalResult verifyBox(Operation* op, ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape, ArrayRef<int64_t> whole) {
  if (offsets.size() != whole.size() || shape.size() != whole.size())
    return op->emitOpError() << "needs one offset for each of the " << whole.size() << " dimensions, but got " << offsets.size();
  for (auto [d, offset] : llvm::enumerate(offsets))
    if (offset < 0 || offset % shape[d] != 0 || offset + shape[d] > whole[d])
      return op->emitOpError() << "offset " << offset << " of dim " << d << " must be a multiple of the result's size " << shape[d]
                               << " there, and the box must lie within " << whole[d];
  return success();
}

/// One extent for each dimension of a tile, within its size.
static LogicalResult verifyExtents(Operation* op, StringRef name, ArrayRef<int64_t> extents, ArrayRef<int64_t> shape) {
  if (extents.size() != shape.size())
    return op->emitOpError() << "needs one number in " << name << " for each of the " << shape.size() << " dimensions, but got "
                             << extents.size();
  for (auto [d, extent] : llvm::enumerate(extents))
    if (extent < 1 || extent > shape[d])
      return op->emitOpError() << name << " of dim " << d << " must be in [1, " << shape[d] << "], but got " << extent;
  return success();
}

static int64_t countOf(ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  return count;
}

/// The part of a tile that a buffer of one dimension holds, row by row.
static LogicalResult verifyRows(Operation* op, ArrayRef<int64_t> extents, RankedTensorType tile, BufferType buffer) {
  if (failed(verifyExtents(op, "extents", extents, tile.getShape()))) return failure();
  if (buffer.getElementType() != tile.getElementType())
    return op->emitOpError() << "element types of buffer and tile must match, but got " << buffer.getElementType() << " and "
                             << tile.getElementType();
  if (buffer.getRank() == 1 && buffer.getShape()[0] == countOf(extents)) return success();
  return op->emitOpError() << "needs a buffer of one dimension of " << countOf(extents) << " elements for extents "
                           << tile::formatShape(extents) << ", but got " << tile::formatShape(buffer.getShape());
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (failed(verifyExtents(*this, "from", getFrom(), from.getShape())) || failed(verifyExtents(*this, "to", getTo(), to.getShape())))
    return failure();
  if (from.getElementType() == to.getElementType() && countOf(getFrom()) == countOf(getTo())) return success();
  return emitOpError() << "input and result must have as many elements of one type, but have " << tile::formatShape(getFrom()) << " of "
                       << from.getElementType() << " and " << tile::formatShape(getTo()) << " of " << to.getElementType();
}

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (failed(verifyHome(*this, from)) || failed(verifyHome(*this, to))) return failure();
  if (failed(verifySameTile(*this, "input and result", from.getShape(), from.getElementType(), to.getShape(), to.getElementType())))
    return failure();
  for (std::string_view in : {kLane, kWarp})
    if (layoutOf(from)->inputSize(in) != layoutOf(to)->inputSize(in))
      return emitOpError() << "input and result must have the same number of " << in << "s, but have " << layoutOf(from)->inputSize(in)
                           << " and " << layoutOf(to)->inputSize(in);
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (auto inner = getInput().getDefiningOp<ConvertLayoutOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return getInput().getType() == getResult().getType() ? getInput() : OpFoldResult();
}

LogicalResult SliceOp::verify() {
  if (failed(verifyHome(*this, getInput().getType())) || failed(verifyHome(*this, getResult().getType()))) return failure();
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "element types of input and result must match, but got " << from.getElementType() << " and "
                         << to.getElementType();
  return verifyBox(*this, getOffsets(), to.getShape(), from.getShape());
}

LogicalResult LoadBufferOp::verify() {
  BufferType buffer = getBuffer().getType();
  RankedTensorType result = getResult().getType();
  if (failed(verifyHome(*this, result))) return failure();
  if (!getExtents().empty()) {
    if (!getOffsets().empty()) return emitOpError() << "has both extents and offsets; legal is one of them";
    return verifyRows(*this, getExtents(), result, buffer);
  }
  if (getOffsets().empty())
    return verifySameTile(*this, "buffer and result", buffer.getShape(), buffer.getElementType(), result.getShape(),
                          result.getElementType());
  if (buffer.getElementType() != result.getElementType())
    return emitOpError() << "element types of buffer and result must match, but got " << buffer.getElementType() << " and "
                         << result.getElementType();
  return verifyBox(*this, getOffsets(), result.getShape(), buffer.getShape());
}

LogicalResult StoreBufferOp::verify() {
  BufferType buffer = getBuffer().getType();
  RankedTensorType value = getValue().getType();
  if (failed(verifyHome(*this, value))) return failure();
  if (!getExtents().empty()) return verifyRows(*this, getExtents(), value, buffer);
  return verifySameTile(*this, "value and buffer", value.getShape(), value.getElementType(), buffer.getShape(), buffer.getElementType());
}

LogicalResult CopyAsyncOp::verify() {
  BufferType buffer = getBuffer().getType();
  tile::BlockPtrType ptr = getPtr().getType();
  if (failed(verifySameTile(*this, "block pointer and buffer", ptr.getShape(), ptr.getElementType(), buffer.getShape(),
                            buffer.getElementType())))
    return failure();
  llvm::SmallBitVector seen(static_cast<unsigned>(ptr.getRank()));
  for (int64_t d : getBoundaryCheck()) {
    if (d < 0 || d >= ptr.getRank() || seen.test(static_cast<unsigned>(d)))
      return emitOpError() << "boundary_check must name distinct dimensions in [0, " << ptr.getRank() - 1 << "], but got " << d;
    seen.set(static_cast<unsigned>(d));
  }
  return getLayout().verifyEncoding(ptr.getShape(), ptr.getElementType(), [&] { return emitOpError(); });
}

}  // namespace fattn::tilegpu
