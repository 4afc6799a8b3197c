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
// that is room beside all other buffers, in the first case with two slots for what is copied once a program; else the tile may lie where
// operands were. Of sums the engine is given f32 alone. Additions of owners (-tilegpu-assign-owners) of one kind have one buffer.
//
// Runs before -tilegpu-decompose-conversions. Test: tests/lit/gpu/store-boxes.mlir.
#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/dialect/SourceLabels.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/copies/TensorMaps.h"
#include "compiler/layout/Queries.h"
#include "compiler/layout/Shared.h"
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

  bool adds() const { return isa<tile::AccumulateOp>(write); }
  bool again() const { return write->getParentOfType<LoopLikeOpInterface>() || write->getParentOfType<OwnerOnlyOp>(); }
  int64_t bytes() const {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() * elementBits(type.getElementType()) / 8;
  }
};

/// The widest boxes of the warps' parts that the engine takes.
std::optional<Plan> planFor(Operation* write, Value pointer, Value value, layout::WarpBox held) {
  auto type = cast<RankedTensorType>(value.getType());
  const int bits = elementBits(type.getElementType());
  if (held.rows % kSwizzledRows != 0) return std::nullopt;
  for (int64_t width : {128, 64, 32}) {
    if (held.columns * bits / 8 % width != 0) continue;
    auto window = bulkWindow(write, width, held.rows);
    if (!window) return std::nullopt;
    layout::Coords shape(type.getShape().begin(), type.getShape().end());
    return Plan{write, pointer, value, layout::swizzled(shape, bits, static_cast<int>(width), 16).elements(), *window};
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

/// Bytes of all buffers, as if all were alive together.
int64_t bytesTaken(func::FuncOp func, bool programs) {
  int64_t bytes = 0;
  func.walk([&](AllocOp alloc) { bytes += alloc.getResult().getType().getBytes() * (programs && isFilledOnce(alloc) ? 2 : 1); });
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

/// Whether the block has room for what the engine reads.
bool hasRoom(func::FuncOp func, const Plan& plan, bool programs) {
  const int64_t taken = bytesTaken(func, programs), most = targetOf(func).shared.bytesPerBlock;
  if (taken + plan.bytes() + kReserve <= most) return true;
  return !programs && !plan.again() && plan.bytes() <= taken;
}

void rewrite(func::FuncOp func, const Plan& plan) {
  auto type = cast<RankedTensorType>(plan.value.getType());
  Operation* write = plan.write;
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  auto shared = SharedAttr::get(b.getContext(), plan.home);
  auto bufferType = BufferType::get(b.getContext(), 1, type.getShape(), type.getElementType(), shared);
  Value buffer = sharedBuffer(func, plan);
  if (!buffer) buffer = AllocOp::create(b, write->getLoc(), bufferType, IntegerAttr(), IntegerAttr(), IntegerAttr());
  b.setInsertionPoint(write);
  auto checked = write->getAttrOfType<DenseI64ArrayAttr>("boundary_check");
  auto stored = StoreBoxesOp::create(b, write->getLoc(), plan.pointer, plan.value, buffer, plan.window.coordinates,
                                     static_cast<uint64_t>(addTensorMap(func, plan.window)), checked.asArrayRef(), plan.adds());
  copySourceLabel(write, stored);
  if (Attribute extents = write->getAttr(kExtentsAttr)) stored->setAttr(kExtentsAttr, extents);
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
        if (plan && (sharedBuffer(func, *plan) || hasRoom(func, *plan, programs))) rewrite(func, *plan);
      }
    } catch (const Error& error) {
      func.emitError() << error.what();
      signalPassFailure();
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
