// SPDX-License-Identifier: Apache-2.0
// Verifiers of the operations on shared memory.
#include "compiler/dialect/Verify.h"
#include "compiler/gpu/dialect/Verify.h"
#include "compiler/layout/Queries.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// Bytes that a thread copies at least.
constexpr int64_t kLeastCopy = 4;

bool isInLoop(Operation* op) { return op->getParentOfType<LoopLikeOpInterface>() != nullptr; }

/// A buffer whose bytes are known, and one of its slots.
LogicalResult verifySlot(Operation* op, Value buffer, Value slot) {
  if (!buffer.getDefiningOp<AllocOp>()) return op->emitOpError() << "needs a buffer that is the result of tilegpu.alloc";
  std::optional<int64_t> number = getConstantIntValue(slot);
  int64_t slots = cast<BufferType>(buffer.getType()).getSlots();
  if (!number || (*number >= 0 && *number < slots)) return success();
  return op->emitOpError() << "slot " << *number << " must be in [0, " << slots - 1 << "]";
}

/// The part of a tile that a buffer of one dimension holds, row by row.
LogicalResult verifyRows(Operation* op, ArrayRef<int64_t> extents, RankedTensorType tile, BufferType buffer) {
  if (failed(verifyExtents(op, "extents", extents, tile.getShape()))) return failure();
  if (buffer.getElementType() != tile.getElementType())
    return op->emitOpError() << "element types of buffer and tile must match, but got " << buffer.getElementType() << " and "
                             << tile.getElementType();
  if (buffer.getRank() == 1 && buffer.getShape()[0] == countOf(extents)) return success();
  return op->emitOpError() << "needs a buffer of one dimension of " << countOf(extents) << " elements for extents "
                           << tile::formatShape(extents) << ", but got " << tile::formatShape(buffer.getShape());
}

/// Bytes along dimension `d` that follow each other in every thread's registers and in the buffer.
int64_t bytesTogether(const layout::LinearLayout& layout, BufferType buffer, int d) {
  const layout::LinearLayout& places = buffer.getLayout().getLayout();
  const layout::f2::Columns &at = places.columns(layout::kOffset), &along = places.outputUnits(layout::dim(d));
  size_t bits = 0;
  while (bits < std::min(at.size(), along.size()) && at[bits] == along[bits]) ++bits;
  return std::min(int64_t{layout::consecutive(layout, d)}, int64_t{1} << bits) * buffer.getElementBytes();
}

}  // namespace

LogicalResult AllocOp::verify() {
  BufferType type = getResult().getType();
  if (type.getSlots() > 1 && isInLoop(*this))
    return emitOpError() << "of " << type.getSlots() << " slots must be outside of loops: in a loop each trip gets room of its own";
  if (!getOffset()) return success();
  auto offset = static_cast<int64_t>(*getOffset());
  if (offset < 0) return emitOpError() << "offset must be at least 0, but got " << offset;
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  auto bytes = function ? function->getAttrOfType<IntegerAttr>(kSharedBytesAttr) : IntegerAttr();
  if (!bytes || offset + type.getBytes() <= bytes.getInt()) return success();
  return emitOpError() << "ends at byte " << offset + type.getBytes() << ", but the function has " << bytes.getInt()
                       << " bytes of shared memory (" << kSharedBytesAttr << ")";
}

LogicalResult LoadBufferOp::verify() {
  BufferType buffer = getBuffer().getType();
  RankedTensorType result = getResult().getType();
  if (failed(verifyHome(*this, result)) || failed(verifySlot(*this, getBuffer(), getSlot()))) return failure();
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
  if (failed(verifyHome(*this, value)) || failed(verifySlot(*this, getBuffer(), getSlot()))) return failure();
  if (!getExtents().empty()) return verifyRows(*this, getExtents(), value, buffer);
  return verifySameTile(*this, "value and buffer", value.getShape(), value.getElementType(), buffer.getShape(), buffer.getElementType());
}

LogicalResult CopyAsyncOp::verify() {
  BufferType buffer = getBuffer().getType();
  tile::BlockPtrType ptr = getPtr().getType();
  if (failed(verifySlot(*this, getBuffer(), getSlot()))) return failure();
  if (isInLoop(getBuffer().getDefiningOp()))
    return emitOpError() << "needs a buffer that is allocated outside of loops: a copy may be in flight from one trip to the next";
  if (failed(verifySameTile(*this, "block pointer and buffer", ptr.getShape(), ptr.getElementType(), buffer.getShape(),
                            buffer.getElementType())))
    return failure();
  llvm::SmallBitVector seen(static_cast<unsigned>(ptr.getRank()));
  for (int64_t d : getBoundaryCheck()) {
    if (d < 0 || d >= ptr.getRank() || seen.test(static_cast<unsigned>(d)))
      return emitOpError() << "boundary_check must name distinct dimensions in [0, " << ptr.getRank() - 1 << "], but got " << d;
    seen.set(static_cast<unsigned>(d));
  }
  if (failed(getLayout().verifyEncoding(ptr.getShape(), ptr.getElementType(), [&] { return emitOpError(); }))) return failure();
  for (int d = 0; d < static_cast<int>(ptr.getRank()); ++d)
    if (bytesTogether(getLayout().getLayout(), buffer, d) >= kLeastCopy) return success();
  return emitOpError() << "needs a layout whose threads hold at least " << kLeastCopy
                       << " bytes of elements that follow each other, in the buffer as well, but it is " << getLayout().getLayout().str();
}

namespace {

/// Operand `i` of what ends a block; nothing where the block is not whole, which its parent's verifier says.
Value endOperand(Block& block, unsigned i) {
  if (block.empty() || !block.mightHaveTerminator()) return {};
  Operation* end = block.getTerminator();
  return i < end->getNumOperands() ? end->getOperand(i) : Value();
}

/// The values that a token may be, one step back; nothing where it comes from no operation that hands values on.
std::optional<SmallVector<Value>> sourcesOf(Value token) {
  auto argument = dyn_cast<BlockArgument>(token);
  Operation* op = argument ? argument.getOwner()->getParentOp() : token.getDefiningOp();
  unsigned i = argument ? argument.getArgNumber() : cast<OpResult>(token).getResultNumber();
  if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) {
    if (argument && i == 0) return std::nullopt;
    unsigned number = argument ? i - 1 : i;
    if (number >= loop.getInitArgs().size()) return std::nullopt;
    return SmallVector<Value>{loop.getInitArgs()[number], endOperand(*loop.getBody(), number)};
  }
  if (auto loop = dyn_cast_or_null<scf::WhileOp>(op)) {
    bool first = argument && argument.getOwner() == loop.getBeforeBody();
    if (!first) return SmallVector<Value>{endOperand(*loop.getBeforeBody(), i + 1)};  // behind the condition
    if (i >= loop.getInits().size()) return std::nullopt;
    return SmallVector<Value>{loop.getInits()[i], endOperand(*loop.getAfterBody(), i)};
  }
  if (auto branch = dyn_cast_or_null<scf::IfOp>(op); branch && !argument) {
    SmallVector<Value> sources;
    for (Region& region : branch->getRegions())
      if (!region.empty()) sources.push_back(endOperand(region.front(), i));
    return sources;
  }
  return std::nullopt;
}

/// Whether all that a token may be are copies.
bool isOfCopies(Value token) {
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(token);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].getDefiningOp<CopyAsyncOp>()) continue;
    std::optional<SmallVector<Value>> sources = sourcesOf(seen[i]);
    if (!sources) return false;
    for (Value source : *sources)
      if (source) seen.insert(source);
  }
  return true;
}

}  // namespace

LogicalResult CopyWaitOp::verify() {
  if (static_cast<int64_t>(getPending().value_or(0)) < 0)
    return emitOpError() << "pending must be at least 0, but got " << static_cast<int64_t>(*getPending());
  for (auto [i, token] : llvm::enumerate(getTokens()))
    if (!isOfCopies(token)) return emitOpError() << "waits for token " << i << ", which comes from no tilegpu.copy_async";
  return success();
}

}  // namespace fattn::tilegpu
