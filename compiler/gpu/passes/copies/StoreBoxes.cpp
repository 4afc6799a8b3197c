// SPDX-License-Identifier: Apache-2.0
// Lets a copy engine write what threads have computed, where that spares a conversion:
//
//   %y = convert_layout %x : #rows -> #vectors             %b = alloc : buffer<1 x 128x64xbf16, swizzled>
//   tile.store %p, %y                               =>     store_boxes %p, %x in %b map 3 [..]
//
// Results of dots lie in threads so that no thread has 16 bytes of a row. To store such vectors, the lanes of a row exchange registers
// first. An engine takes boxes from shared memory instead: a warp lays its rows there, which takes a few instructions, and goes on.
//
// Conditions: warps hold whole rows (layout::rowsOfWarps), so that no warp waits for another; the engine can do what the store says
// (TensorMaps.h); and there is room. Where blocks take several programs (`programs`), that is room beside all other buffers, with two slots
// for what is copied once a program; else the tile may lie where operands were.
//
// Runs before -tilegpu-decompose-conversions. Test: tests/lit/gpu/store-boxes.mlir.
#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/copies/TensorMaps.h"
#include "compiler/layout/Queries.h"
#include "compiler/layout/Shared.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_STOREBOXESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Rows of a swizzled buffer whose pattern repeats.
constexpr int64_t kSwizzledRows = 8;
/// For barrier objects behind the buffers.
constexpr int64_t kReserve = 1024;

/// What the engine stores, and how it lies in the buffer.
struct Plan {
  ConvertLayoutOp conversion;
  layout::LinearLayout home;
  BulkWindow window;
};

std::optional<Plan> planFor(tile::StoreOp store) {
  auto conversion = store.getValue().getDefiningOp<ConvertLayoutOp>();
  if (!conversion || !layoutOf(conversion.getInput())) return std::nullopt;
  RankedTensorType type = conversion.getInput().getType();
  const int bits = elementBits(type.getElementType());
  if (type.getRank() != 2 || bits != 16) return std::nullopt;  // what matrices of 8 x 8 elements are stored by
  std::optional<int64_t> rows = layout::rowsOfWarps(*layoutOf(type));
  if (!rows || *rows % kSwizzledRows != 0) return std::nullopt;
  for (int64_t width : {128, 64, 32}) {
    if (type.getDimSize(1) * bits / 8 % width != 0) continue;
    auto window = bulkWindow(store, width, *rows);
    if (!window) return std::nullopt;
    layout::Coords shape(type.getShape().begin(), type.getShape().end());
    return Plan{conversion, layout::swizzled(shape, bits, static_cast<int>(width), 16).elements(), *window};
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

void rewrite(func::FuncOp func, tile::StoreOp store, Plan plan) {
  RankedTensorType type = plan.conversion.getInput().getType();
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  auto shared = SharedAttr::get(b.getContext(), plan.home);
  auto bufferType = BufferType::get(b.getContext(), 1, type.getShape(), type.getElementType(), shared);
  Value buffer = AllocOp::create(b, store.getLoc(), bufferType, IntegerAttr(), IntegerAttr());
  b.setInsertionPoint(store);
  auto stored = StoreBoxesOp::create(b, store.getLoc(), store.getPtr(), plan.conversion.getInput(), buffer, plan.window.coordinates,
                                     static_cast<uint64_t>(addTensorMap(func, plan.window)), store.getBoundaryCheck());
  if (Attribute extents = store->getAttr(kExtentsAttr)) stored->setAttr(kExtentsAttr, extents);
  store.erase();
  if (plan.conversion->use_empty()) plan.conversion.erase();
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
      SmallVector<tile::StoreOp> stores;
      func.walk([&](tile::StoreOp store) { stores.push_back(store); });
      for (tile::StoreOp store : stores) {
        std::optional<Plan> plan = planFor(store);
        if (!plan) continue;
        RankedTensorType type = plan->conversion.getInput().getType();
        int64_t bytes = type.getNumElements() * elementBits(type.getElementType()) / 8;
        int64_t taken = bytesTaken(func, programs);
        if (taken + bytes + kReserve <= target.shared.bytesPerBlock || (!programs && bytes <= taken)) rewrite(func, store, *plan);
      }
    } catch (const Error& error) {
      func.emitError() << error.what();
      signalPassFailure();
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
