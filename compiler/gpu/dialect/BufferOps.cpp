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
  std::optional<int64_t> number = slot ? getConstantIntValue(slot) : std::nullopt;
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
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  auto bytes = function ? function->getAttrOfType<IntegerAttr>(kSharedBytesAttr) : IntegerAttr();
  auto verifyPlace = [&](std::optional<uint64_t> place, StringRef name, StringRef what, int64_t size) -> LogicalResult {
    if (!place) return success();
    auto begin = static_cast<int64_t>(*place);
    if (begin < 0) return emitOpError() << name << " must be at least 0, but got " << begin;
    if (!bytes || begin + size <= bytes.getInt()) return success();
    return emitOpError() << what << " at byte " << begin + size << ", but the function has " << bytes.getInt()
                         << " bytes of shared memory (" << kSharedBytesAttr << ")";
  };
  if (failed(verifyPlace(getOffset(), "offset", "ends", type.getBytes()))) return failure();
  return verifyPlace(getBarriers(), "barriers", "has barriers that end", 8 * type.getSlots());
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

/// The map of a copy by boxes, and its coordinates.
static LogicalResult verifyMap(Operation* copy, size_t number, size_t coordinates) {
  auto function = copy->getParentOfType<FunctionOpInterface>();
  auto maps = function ? function->getAttrOfType<ArrayAttr>(kTensorMapsAttr) : ArrayAttr();
  size_t count = maps ? maps.size() : 0;
  if (number >= count) return copy->emitOpError() << "names tensor map " << number << ", but the function has " << count;
  auto map = dyn_cast<DictionaryAttr>(maps[number]);
  auto sizes = map ? map.getAs<ArrayAttr>("sizes") : ArrayAttr();
  if (!sizes || sizes.size() < 2)
    return copy->emitOpError() << "names tensor map " << number << ", which has no sizes of two or more dimensions";
  if (coordinates + 2 == sizes.size()) return success();
  return copy->emitOpError() << "has " << coordinates << " coordinates, but tensor map " << number << " needs " << sizes.size() - 2;
}

/// The elements of a box of a map that exists.
static DenseI64ArrayAttr boxOf(Operation* op, size_t number) {
  auto maps = op->getParentOfType<FunctionOpInterface>()->getAttrOfType<ArrayAttr>(kTensorMapsAttr);
  return cast<DictionaryAttr>(maps[number]).getAs<DenseI64ArrayAttr>("box");
}

static LogicalResult verifyBoundaryCheck(Operation* op, ArrayRef<int64_t> checked, int64_t rank) {
  llvm::SmallBitVector seen(static_cast<unsigned>(rank));
  for (int64_t d : checked) {
    if (d < 0 || d >= rank || seen.test(static_cast<unsigned>(d)))
      return op->emitOpError() << "boundary_check must name distinct dimensions in [0, " << rank - 1 << "], but got " << d;
    seen.set(static_cast<unsigned>(d));
  }
  return success();
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
  if (failed(verifyBoundaryCheck(*this, getBoundaryCheck(), ptr.getRank()))) return failure();
  if (getLayout().has_value() == isBulk()) return emitOpError() << "needs either a layout or a map";
  if (isBulk()) return verifyMap(*this, *getMap(), getCoordinates().size());
  if (failed(getLayout()->verifyEncoding(ptr.getShape(), ptr.getElementType(), [&] { return emitOpError(); }))) return failure();
  for (int d = 0; d < static_cast<int>(ptr.getRank()); ++d)
    if (bytesTogether(getLayout()->getLayout(), buffer, d) >= kLeastCopy) return success();
  return emitOpError() << "needs a layout whose threads hold at least " << kLeastCopy
                       << " bytes of elements that follow each other, in the buffer as well, but it is " << getLayout()->getLayout().str();
}

bool waitsForBoxes(Operation* op) {
  return op->walk([](CopyWaitOp wait) { return wait.isBulk() ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
}

LogicalResult StoreBoxesOp::verify() {
  BufferType buffer = getBuffer().getType();
  tile::BlockPtrType ptr = getPtr().getType();
  RankedTensorType value = getValue().getType();
  if (failed(verifyHome(*this, value)) || failed(verifySlot(*this, getBuffer(), Value()))) return failure();
  if (failed(verifySameTile(*this, "value and buffer", value.getShape(), value.getElementType(), buffer.getShape(),
                            buffer.getElementType())) ||
      failed(
          verifySameTile(*this, "value and block pointer", value.getShape(), value.getElementType(), ptr.getShape(), ptr.getElementType())))
    return failure();
  if (value.getRank() != 2) return emitOpError() << "needs a tile of two dimensions, but this one has " << value.getRank();
  if (buffer.getSlots() != 1 || isInLoop(getBuffer().getDefiningOp()))
    return emitOpError()
           << "needs a buffer of one slot that is allocated outside of loops: the engine may read it from one trip to the next";
  if (failed(verifyBoundaryCheck(*this, getBoundaryCheck(), ptr.getRank())) || failed(verifyMap(*this, getMap(), getCoordinates().size())))
    return failure();
  if (!getAdd() && isInLoop(*this)) return emitOpError() << "needs 'add' in a loop: the engine's stores of one place have no order";
  if (isMadeElsewhere(*this)) return success();
  DenseI64ArrayAttr box = boxOf(*this, getMap());
  std::optional<layout::WarpBox> held = layout::boxOfWarps(*layoutOf(value));
  if (!box || box.size() != 2 || !held || held->rows != box[1] || held->columns % box[0] != 0)
    return emitOpError() << "needs a layout that gives a warp whole boxes of tensor map " << getMap()
                         << ", as many rows that follow each other as one has; it is " << layoutOf(value)->str();
  return success();
}

LogicalResult SendBoxesOp::verify() {
  BufferType buffer = getBuffer().getType();
  tile::BlockPtrType ptr = getPtr().getType();
  if (failed(verifySlot(*this, getBuffer(), Value())) ||
      failed(verifySameTile(*this, "block pointer and buffer", ptr.getShape(), ptr.getElementType(), buffer.getShape(),
                            buffer.getElementType())))
    return failure();
  if (buffer.getSlots() != 1 || isInLoop(getBuffer().getDefiningOp()) || ptr.getRank() != 2)
    return emitOpError() << "needs a buffer of one slot and two dimensions that is allocated outside of loops";
  if (failed(verifyBoundaryCheck(*this, getBoundaryCheck(), ptr.getRank())) || failed(verifyMap(*this, getMap(), getCoordinates().size())))
    return failure();
  DenseI64ArrayAttr box = boxOf(*this, getMap());
  if (box && box.size() == 2 && ptr.getShape()[1] % box[0] == 0 && ptr.getShape()[0] % box[1] == 0) return success();
  return emitOpError() << "needs a tile that boxes of tensor map " << getMap() << " divide";
}

LogicalResult ReleaseOp::verify() { return verifySlot(*this, getBuffer(), getSlot()); }
LogicalResult SlotAcquireOp::verify() { return verifySlot(*this, getBuffer(), getSlot()); }
LogicalResult SlotCommitOp::verify() { return verifySlot(*this, getBuffer(), getSlot()); }

LogicalResult SlotWaitOp::verify() {
  auto isOwners = [](Operation* op) { return op->getParentOfType<OwnerOnlyOp>() != nullptr; };
  const bool filledByOne = llvm::any_of(getBuffer().getUsers(), [&](Operation* op) { return isa<SlotCommitOp>(op) && isOwners(op); });
  if (!isOwners(*this) && !filledByOne)
    return emitOpError() << "needs to stand in tilegpu.owner_only, or a buffer whose slots are committed there";
  return verifySlot(*this, getBuffer(), getSlot());
}

/// What a thread of the first group has at these places of a layout, which is linear in their bits, and of any warp.
static LogicalResult verifyGroups(GroupPartOp part, const layout::LinearLayout& whole, const layout::LinearLayout& own) {
  const int64_t group = own.inputSize(layout::kWarp), warps = whole.inputSize(layout::kWarp), rows = part.getType().getDimSize(0);
  const bool shared = rows == part.getInput().getType().getDimSize(0);
  bool same = warps % group == 0 && whole.inputSize(layout::kRegister) == own.inputSize(layout::kRegister);
  auto compare = [&](int64_t number, int64_t lane, int64_t warp) {
    layout::Coords expected = own.apply({number, lane, warp % group});
    if (!shared) expected[0] += warp / group * rows;
    same = same && whole.apply({number, lane, warp}) == expected;
  };
  for (int64_t warp = 0; same && warp < warps; ++warp) compare(0, 0, warp);
  for (int64_t lane = 1; same && lane < own.inputSize(layout::kLane); lane *= 2) compare(0, lane, 0);
  for (int64_t number = 1; same && number < own.inputSize(layout::kRegister); number *= 2) compare(number, 0, 0);
  if (same) return success();
  return part.emitOpError() << "needs the input's layout in each group, but got " << part.getInput().getType() << " and " << part.getType();
}

LogicalResult GroupPartOp::verify() {
  RankedTensorType whole = getInput().getType(), own = getType();
  if (failed(verifyHome(*this, whole)) || failed(verifyHome(*this, own))) return failure();
  auto region = (*this)->getParentOfType<OwnerOnlyOp>();
  if (!region || region->isAncestor(getInput().getParentRegion()->getParentOp()))
    return emitOpError() << "needs to stand in tilegpu.owner_only, and an input from outside";
  if (whole.getElementType() != own.getElementType() || whole.getShape().drop_front() != own.getShape().drop_front())
    return emitOpError() << "needs an input like its result but for the rows, but got " << whole << " and " << own;
  return verifyGroups(*this, *layoutOf(whole), *layoutOf(own));
}

LogicalResult OwnerOnlyOp::verify() {
  if ((*this)->getParentOfType<OwnerOnlyOp>()) return emitOpError() << "stands in another one; legal is one for all that its owner does";
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  if (!function || !function->hasAttr(kTargetAttr)) return success();
  const std::optional<int>& group = targetOf(*this).warpGroup;
  if (group && warpsOf(*this) >= 2 * *group && warpsOf(*this) % *group == 0) return success();
  return emitOpError() << "needs a machine with warp groups, and a function of two or more of them";
}

LogicalResult GroupLastOp::verify() {
  const layout::LinearLayout& held = getLayout().getLayout();
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  if (!function || !function->hasAttr(kTargetAttr)) return success();
  const gpu::Target& target = targetOf(*this);
  if (!target.warpGroup) return emitOpError() << "needs a machine with warp groups";
  int64_t warps = held.inputSize(layout::kWarp);
  if (warps == warpsOf(*this) && warps % *target.warpGroup == 0) return success();
  return emitOpError() << "needs a layout of the function's " << warpsOf(*this) << " warps in groups of " << *target.warpGroup
                       << ", but this one has " << warps;
}

SmallVector<int64_t> GroupLastOp::byGroup() {
  return llvm::map_to_vector(rowsByGroup(getLayout().getLayout(), *targetOf(*this).warpGroup), [](RowsOfGroup rows) { return rows.last; });
}

LogicalResult WarpLeastOp::verify() {
  Type element = cast<RankedTensorType>(getInput().getType()).getElementType();
  if (element.isInteger(32)) return success();
  return emitOpError() << "needs a tile of i32, but got " << getInput().getType();
}

LogicalResult EachProgramOp::verify() {
  Block& body = getBody().front();
  const size_t carried = getInits().size(), arguments = body.getNumArguments();
  if (arguments > carried + 4 || arguments < carried + (carried == 0 ? 3 : 4) ||
      !llvm::all_of(body.getArgumentTypes(), [](Type type) { return type.isInteger(32); }))
    return emitOpError()
           << "needs a region with arguments of type i32: the three ids of a program, its number in the block, which may be left "
              "out where nothing is carried, and one for each of the "
           << carried << " numbers carried";
  if (body.getTerminator()->getNumOperands() != carried)
    return emitOpError() << "carries " << carried << " numbers, but a program ends with " << body.getTerminator()->getNumOperands();
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  if (getDynamic() && function && !function->hasAttr(kClaimsAttr))
    return emitOpError() << "is dynamic and needs a function with the attribute " << kClaimsAttr << ", which -tilegpu-allocate-shared sets";
  if (function && function->hasAttr(kRepeatsAttr)) return success();
  return emitOpError() << "needs a function with the attribute " << kRepeatsAttr << ", for which a launch has fewer blocks than programs";
}

LogicalResult ClaimProgramOp::verify() {
  auto each = (*this)->getParentOfType<EachProgramOp>();
  if (each && each.getDynamic()) return success();
  return emitOpError() << "needs a tilegpu.each_program dynamic around it";
}

LogicalResult TakeProgramOp::verify() {
  auto each = dyn_cast<EachProgramOp>((*this)->getParentOp());
  if (!each || !each.getDynamic()) return emitOpError() << "needs to stand in the region of a tilegpu.each_program dynamic itself";
  for (Operation* op = (*this)->getNextNode(); op; op = op->getNextNode()) {
    if (isa<TakeProgramOp>(op)) return emitOpError() << "stands twice in a program, which takes one next program";
    if (waitsForBoxes(op)) return emitOpError() << "stands in front of a wait for copies, which may need what this role has not given back";
  }
  return success();
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

/// The copies that a token may be; nothing where it may be anything else.
std::optional<SmallVector<CopyAsyncOp>> copiesOf(Value token) {
  SmallVector<CopyAsyncOp> copies;
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(token);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (auto copy = seen[i].getDefiningOp<CopyAsyncOp>()) {
      copies.push_back(copy);
      continue;
    }
    std::optional<SmallVector<Value>> sources = sourcesOf(seen[i]);
    if (!sources) return std::nullopt;
    for (Value source : *sources)
      if (source) seen.insert(source);
  }
  return copies;
}

}  // namespace

LogicalResult CopyWaitOp::verify() {
  if (static_cast<int64_t>(getPending().value_or(0)) < 0)
    return emitOpError() << "pending must be at least 0, but got " << static_cast<int64_t>(*getPending());
  bool bulk = false, others = false;
  for (auto [i, token] : llvm::enumerate(getTokens())) {
    std::optional<SmallVector<CopyAsyncOp>> copies = copiesOf(token);
    if (!copies) return emitOpError() << "waits for token " << i << ", which comes from no tilegpu.copy_async";
    for (CopyAsyncOp copy : *copies) {
      (copy.isBulk() ? bulk : others) = true;
      if (copy.isBulk() && copy.getBuffer() != getBuffer())
        return emitOpError() << "waits for token " << i << " of a copy by a tensor map, and has to name the copy's buffer";
    }
  }
  if (static_cast<bool>(getBuffer()) != static_cast<bool>(getSlot())) return emitOpError() << "needs a slot exactly if it has a buffer";
  if (!getBuffer()) return success();
  if (others || !bulk || getTokens().size() != 1) return emitOpError() << "has a buffer, which is for one copy by a tensor map alone";
  return verifySlot(*this, getBuffer(), getSlot());
}

}  // namespace fattn::tilegpu
