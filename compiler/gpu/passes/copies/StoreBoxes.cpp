// SPDX-License-Identifier: Apache-2.0
// Lets a copy engine write what threads have computed, where that spares a conversion:
//
//   %y = convert_layout %x : #rows -> #vectors             %b = alloc : buffer<1 x 128x64xbf16, swizzled>
//   tile.store %p, %y                               =>     store_boxes %p, %x in %b map 3 [..]
//
// or many additions to memory, in loops, too:
//
//   tile.accumulate %p, %x                          =>     store_boxes %p, %x in %b map 3 [..] {add}
//
// Results of dots lie in threads so that no thread has 16 bytes of a row. To store such vectors, the lanes of a row exchange registers
// first. An engine takes boxes from shared memory instead: a warp lays its part there, which takes a few instructions, and goes on.
// Additions by threads take an instruction for each 8 or 16 bytes of a thread, and fill the queue in which accesses to shared memory wait.
//
// Conditions: warps hold whole boxes (layout::boxOfWarps; whole rows where a conversion goes), so that no warp waits for another; the
// engine can do what the operation says (TensorMaps.h); and there is room. Where blocks take several programs (`programs`), and in loops,
// that is room beside all other buffers; else the tile may lie where operands were. Of sums the engine is given f32 alone. Additions of
// owners (-tilegpu-assign-owners) of one kind have one buffer.
//
// With `programs` what is copied once a program has two slots beside it, where there is room for both (-tilegpu-allocate-shared), else
// one. Where a whole tile has no room, its columns are stored in two or four parts, one after the other, from a buffer for one of them:
//
//   store_boxes %p, (slice %x [0, 0]) in %b     // 128 of 256 columns
//   store_boxes %q, (slice %x [0, 128]) in %b   // waits until the engine has read the part before
//
// Runs before -tilegpu-decompose-conversions. Test: tests/lit/gpu/store-boxes.mlir.
#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/dialect/SourceLabels.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/copies/TensorMaps.h"
#include "compiler/layout/Queries.h"
#include "compiler/layout/Shared.h"
#include "compiler/layout/Tiling.h"
#include "fattn/Error.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_STOREBOXESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Rows of a swizzled buffer whose pattern repeats.
constexpr int64_t kSwizzledRows = 8;
/// For barrier objects behind the buffers.
constexpr int64_t kReserve = 1024;

/// What the engine stores or adds, and how it lies in the buffer.
struct Plan {
  Operation* write;  ///< tile.store or tile.accumulate
  Value pointer, value;
  layout::LinearLayout home;
  BulkWindow window;
  int64_t parts = 1;  ///< of columns, which are stored one after the other; `home` is that of one

  bool adds() const { return isa<tile::AccumulateOp>(write); }
  bool again() const { return write->getParentOfType<LoopLikeOpInterface>() || write->getParentOfType<OwnerOnlyOp>(); }
  int64_t bytes() const {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() * elementBits(type.getElementType()) / 8 / parts;
  }
};

/// How a tile lies in rows of `width` bytes, or so many of its columns.
layout::LinearLayout homeOf(RankedTensorType type, int64_t width, int64_t parts) {
  layout::Coords shape(type.getShape().begin(), type.getShape().end());
  shape[1] /= parts;
  return layout::swizzled(shape, elementBits(type.getElementType()), static_cast<int>(width), 16).elements();
}

/// The widest boxes of the warps' parts that the engine takes.
std::optional<Plan> planFor(Operation* write, Value pointer, Value value, layout::WarpBox held) {
  auto type = cast<RankedTensorType>(value.getType());
  const int bits = elementBits(type.getElementType());
  if (held.rows % kSwizzledRows != 0) return std::nullopt;
  for (int64_t width : {128, 64, 32}) {
    if (held.columns * bits / 8 % width != 0) continue;
    auto window = bulkWindow(write, width, held.rows);
    if (!window) return std::nullopt;
    return Plan{write, pointer, value, homeOf(type, width, /*parts=*/1), *window};
  }
  return std::nullopt;
}

std::optional<Plan> planFor(tile::StoreOp store) {
  auto conversion = store.getValue().getDefiningOp<ConvertLayoutOp>();
  if (!conversion || !layoutOf(conversion.getInput())) return std::nullopt;
  RankedTensorType type = conversion.getInput().getType();
  if (type.getRank() != 2 || elementBits(type.getElementType()) != 16)
    return std::nullopt;  // what matrices of 8 x 8 elements are stored by
  const layout::LinearLayout& layout = *layoutOf(type);
  if (!layout::rowsOfWarps(layout)) return std::nullopt;
  return planFor(store, store.getPtr(), conversion.getInput(), *layout::boxOfWarps(layout));
}

std::optional<Plan> planFor(tile::AccumulateOp add) {
  if (!add.getValue().getType().getElementType().isF32() || add.getValue().getType().getRank() != 2) return std::nullopt;
  SmallVector<Value, 2> values = {add.getValue()};
  if (auto conversion = add.getValue().getDefiningOp<ConvertLayoutOp>()) values.insert(values.begin(), conversion.getInput());
  for (Value value : values) {
    const layout::LinearLayout* layout = layoutOf(value.getType());
    std::optional<layout::WarpBox> held = layout ? layout::boxOfWarps(*layout) : std::nullopt;
    std::optional<Plan> plan = held ? planFor(add, add.getPtr(), value, *held) : std::nullopt;
    if (plan) return plan;
  }
  return std::nullopt;
}

/// Whether boxes fill the buffer once a program.
bool isFilledOnce(AllocOp alloc) {
  bool filled = false, inLoop = false;
  for (Operation* user : alloc->getUsers()) {
    auto copy = dyn_cast<CopyAsyncOp>(user);
    filled |= copy && copy.isBulk();
    inLoop |= copy && copy->getParentOfType<LoopLikeOpInterface>();
  }
  return filled && !inLoop;
}

/// Bytes of all buffers, as if all were alive together. `slots`: of what is copied once a program.
int64_t bytesTaken(func::FuncOp func, int64_t slots) {
  int64_t bytes = 0;
  func.walk([&](AllocOp alloc) { bytes += alloc.getResult().getType().getBytes() * (isFilledOnce(alloc) ? slots : 1); });
  return bytes;
}

/// The buffer of another addition that the copying thread sends, in the order of the program: one suffices for tiles of a kind.
Value sharedBuffer(func::FuncOp func, const Plan& plan) {
  Value found;
  if (!plan.adds() || !plan.write->getParentOfType<OwnerOnlyOp>()) return found;
  func.walk([&](StoreBoxesOp store) {
    if (store->getParentOfType<OwnerOnlyOp>() && store.getAdd() && store.getValue().getType() == plan.value.getType() &&
        store.getBuffer().getType().getLayout().getLayout() == plan.home)
      found = store.getBuffer();
  });
  return found;
}

/// The same in so many parts, of whole boxes; nothing where that does not go.
std::optional<Plan> inParts(Plan plan, int64_t parts) {
  if (parts == 1) return plan;
  auto type = cast<RankedTensorType>(plan.value.getType());
  const int64_t columns = cast<DenseI64ArrayAttr>(plan.window.map.get("box")).asArrayRef()[0];
  const int64_t held = layout::boxOfWarps(*layoutOf(type))->columns;
  if (plan.adds() || !plan.pointer.getDefiningOp<tile::MakeBlockPtrOp>() || plan.write->hasAttr(kExtentsAttr)) return std::nullopt;
  if (held != type.getDimSize(1) || held % (parts * columns) != 0 || !layout::firstElements(*layoutOf(type), 1, held / parts))
    return std::nullopt;
  plan.home = homeOf(type, columns * elementBits(type.getElementType()) / 8, parts);
  plan.parts = parts;
  return plan;
}

/// How the block has room for what the engine reads.
std::optional<Plan> withRoom(func::FuncOp func, const Plan& plan, bool programs) {
  const int64_t most = targetOf(func).shared.bytesPerBlock - kReserve;
  const int64_t mostSlots = programs ? 2 : 1, mostParts = programs ? 4 : 1;
  for (int64_t slots = mostSlots; slots >= 1; --slots)
    for (int64_t parts = 1; parts <= mostParts; parts *= 2)
      if (std::optional<Plan> cut = inParts(plan, parts); cut && bytesTaken(func, slots) + cut->bytes() <= most) return cut;
  if (programs || plan.again() || plan.bytes() > bytesTaken(func, 1)) return std::nullopt;
  return plan;
}

/// The window moved to columns from `column` on.
Value partOf(OpBuilder& b, tile::MakeBlockPtrOp whole, ArrayRef<int64_t> shape, int64_t column) {
  Location loc = whole.getLoc();
  SmallVector<Value> offsets(whole.getOffsets());
  if (column != 0) offsets[1] = arith::AddIOp::create(b, loc, offsets[1], arith::ConstantIntOp::create(b, loc, column, 64));
  auto type = tile::BlockPtrType::get(b.getContext(), shape, whole.getType().getElementType());
  return tile::MakeBlockPtrOp::create(b, loc, type, whole.getBase(), whole.getShape(), whole.getStrides(), offsets);
}

void rewrite(func::FuncOp func, const Plan& plan) {
  auto type = cast<RankedTensorType>(plan.value.getType());
  Operation* write = plan.write;
  Location loc = write->getLoc();
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  SmallVector<int64_t> shape(type.getShape());
  shape[1] /= plan.parts;
  auto shared = SharedAttr::get(b.getContext(), plan.home);
  auto bufferType = BufferType::get(b.getContext(), 1, shape, type.getElementType(), shared);
  Value buffer = sharedBuffer(func, plan);
  if (!buffer) buffer = AllocOp::create(b, loc, bufferType, IntegerAttr(), IntegerAttr(), IntegerAttr());
  b.setInsertionPoint(write);
  auto checked = write->getAttrOfType<DenseI64ArrayAttr>("boundary_check");
  const auto map = static_cast<uint64_t>(addTensorMap(func, plan.window));
  for (int64_t part = 0; part < plan.parts; ++part) {
    Value pointer = plan.pointer, value = plan.value;
    if (plan.parts > 1) {
      const int64_t column = part * shape[1];
      pointer = partOf(b, pointer.getDefiningOp<tile::MakeBlockPtrOp>(), shape, column);
      auto partType = withLayout(RankedTensorType::get(shape, type.getElementType()), *layout::firstElements(*layoutOf(type), 1, shape[1]));
      value = SliceOp::create(b, loc, partType, value, b.getDenseI64ArrayAttr({0, column}));
    }
    auto stored = StoreBoxesOp::create(b, loc, pointer, value, buffer, plan.window.coordinates, map, checked.asArrayRef(), plan.adds());
    copySourceLabel(write, stored);
    if (Attribute extents = write->getAttr(kExtentsAttr)) stored->setAttr(kExtentsAttr, extents);
  }
  auto conversion = write->getOperand(1).getDefiningOp<ConvertLayoutOp>();
  write->erase();
  if (conversion && conversion->use_empty()) conversion.erase();
}

class StoreBoxesPass : public impl::StoreBoxesPassBase<StoreBoxesPass> {
 public:
  using StoreBoxesPassBase::StoreBoxesPassBase;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration()) return;
    try {
      const gpu::Target& target = targetOf(func);
      if (!target.copy(gpu::CopyKind::BulkTensor) || !func->hasAttr(kTensorMapsAttr)) return;
      SmallVector<Operation*> writes;
      func.walk([&](Operation* op) {
        if (isa<tile::StoreOp, tile::AccumulateOp>(op)) writes.push_back(op);
      });
      for (Operation* write : writes) {
        auto store = dyn_cast<tile::StoreOp>(write);
        std::optional<Plan> plan = store ? planFor(store) : planFor(cast<tile::AccumulateOp>(write));
        if (plan && !sharedBuffer(func, *plan)) plan = withRoom(func, *plan, programs);
        if (plan) rewrite(func, *plan);
      }
    } catch (const Error& error) {
      func.emitError() << error.what();
      signalPassFailure();
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
