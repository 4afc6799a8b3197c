// SPDX-License-Identifier: Apache-2.0
// What needs other warps' data goes through shared memory, so that every conversion, reduction and running sum left stays within a warp:
//
//   %y = tilegpu.convert_layout %x : #a -> #b            =>    %m = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xf16, swizzle for #a and #b>
//   (of kind "shared")                                         tilegpu.store_buffer %x, %m[0]
//                                                              %y = tilegpu.load_buffer %m[0]
//   %t = tile.trans %x                                         %u = tilegpu.load_buffer %m[0]
//   %z = tilegpu.convert_layout %t                             %z = tile.trans %u
//
// How the tile lies there counts the cycles of who writes it and of all who read it: by vectors, and with the moves behind them where a
// vector brings words that instructions take from different groups of registers, or by 8 x 8 matrices, where the machine has such reads.
//
//   %s = tile.reduce %x axis 1                           =>    %p = tile.reshape %x : 64x256 -> 64x4x64          // 4 warps side by side
//   (columns shared by 4 warps)                                %q = tile.reduce %p axis 2                        // within each warp
//                                                              %r = tilegpu.convert_layout %q                    // 64x4, rows whole in a
//                                                              thread %s = tile.reduce %r axis 1                        // in registers
//
//   %y = tilegpu.reshape %x from [3, 5] to [5, 3]        =>    store_buffer and load_buffer with extents, row by row
//
//   %s = tile.cumsum %x axis 1                           =>    %w = tile.cumsum %p axis 2                        // within each warp
//                                                              %t = tile.reduce %p axis 2                        // the warps' totals
//                                                              addf %w, the sum of the totals of the warps before
//
// Assumptions: A1 every tile has a layout; A2 barriers are placed later. Test: tests/lit/gpu/decompose-conversions.mlir.
#include "compiler/gpu/passes/layouts/DecomposeConversions.h"

#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/layout/Conversion.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_DECOMPOSECONVERSIONSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

using layout::ConversionKind, layout::LinearLayout;

/// The same tile, of elements that memory can hold.
FailureOr<Value> toStorage(OpBuilder& b, Operation* op, Value input) {
  auto type = cast<RankedTensorType>(input.getType());
  if (tile::isStorageType(type.getElementType())) return input;
  if (!type.getElementType().isIndex()) {
    op->emitOpError() << "cannot move elements of type " << type.getElementType()
                      << " between warps; legal are numbers, from which addresses are computed where they are used";
    return failure();
  }
  return arith::IndexCastOp::create(b, op->getLoc(), type.clone(b.getI64Type()), input).getResult();
}

/// A conversion through shared memory, of a tile or of its transpose.
struct Exchange {
  ConvertLayoutOp op;
  Value tile;             ///< what is stored
  bool transposed;        ///< whether the conversion is of its transpose
  LinearLayout from, to;  ///< of the tile's own elements
};

std::optional<Exchange> exchangeOf(ConvertLayoutOp op) {
  RankedTensorType type = op.getInput().getType();
  const LinearLayout &from = *layoutOf(type), &to = *layoutOf(op.getResult());
  if (layout::classify(from, to) != ConversionKind::Shared &&
      layout::planConversion(from, to, elementBits(type.getElementType()), banksOf(op)).kind != ConversionKind::Shared)
    return std::nullopt;
  auto trans = op.getInput().getDefiningOp<tile::TransOp>();
  if (!trans || type.getRank() != 2 || trans.getInput().getType() == type) return Exchange{op, op.getInput(), false, from, to};
  const int swap[] = {1, 0};
  return Exchange{op, trans.getInput(), true, *layoutOf(trans.getInput()), to.transpose(swap)};
}

/// A way to read the tile: by vectors, or by matrices.
struct WayToRead {
  LinearLayout access;
  bool byMatrices = false;
};

/// Matrices are read where the function has a machine that can.
std::vector<WayToRead> waysToRead(const Exchange& exchange, int bits) {
  const LinearLayout read = exchange.to.withoutFreeBits(layout::kRegister);
  std::vector<WayToRead> ways = {{read}};
  ConvertLayoutOp op = exchange.op;
  if (bits != 16 || read.outputs().size() != 2 || !op->getParentOfType<func::FuncOp>()->hasAttr(kTargetAttr)) return ways;
  for (int dim = 0; dim < 2; ++dim)
    if (LinearLayout access = gpu::readAccessOf(targetOf(op), read, dim, bits); access != read) ways.push_back({std::move(access), true});
  return ways;
}

/// Cycles of the banks and of issue.
int slotsOf(const layout::BankReport& report) { return (1 + report.passes) * report.instructions; }

/// Of the best way to read from there. A matrix has whole rows.
int readSlots(ArrayRef<WayToRead> ways, const layout::SharedLayout& home, int bits, const layout::Banks& banks) {
  constexpr int kRow = 16;  // bytes
  int least = std::numeric_limits<int>::max();
  for (const auto& [access, byMatrices] : ways) {
    const layout::BankReport report = layout::bankConflicts(access, home, bits, 0, banks);
    if (byMatrices && report.vector * bits / 8 != kRow) continue;
    least = std::min(least, slotsOf(report) + layout::movesBehind(access, home, bits, report.vector, banks));
  }
  return least;
}

/// How a tile lies that these conversions read: as serves all of them best, and who writes it.
SharedAttr homeFor(ArrayRef<Exchange> exchanges, int bits) {
  ConvertLayoutOp first = exchanges.front().op;
  const layout::Banks banks = banksOf(first);
  const LinearLayout& write = exchanges.front().from;
  std::vector<std::vector<WayToRead>> reads;
  for (const Exchange& one : exchanges) reads.push_back(waysToRead(one, bits));
  std::optional<layout::SharedLayout> best;
  int fewest = 0;
  auto attempt = [&](const WayToRead& way) {
    layout::SharedLayout home = layout::chooseSwizzle(way.access, write, bits, banks).layout;
    int slots = slotsOf(layout::bankConflicts(write, home, bits, 0, banks));
    for (const auto& ways : reads) slots += readSlots(ways, home, bits, banks);
    if (!best || slots < fewest) best = std::move(home), fewest = slots;
  };
  for (const auto& ways : reads) llvm::for_each(ways, attempt);
  return SharedAttr::get(first.getContext(), best->elements());
}

/// Stores the tile in front of the first conversion, and loads it for each.
LogicalResult throughShared(ArrayRef<Exchange> exchanges) {
  ConvertLayoutOp first = exchanges.front().op;
  Location loc = first.getLoc();
  OpBuilder b(first);
  FailureOr<Value> value = toStorage(b, first, exchanges.front().tile);
  if (failed(value)) return failure();
  auto type = cast<RankedTensorType>(value->getType());
  const SharedAttr home = homeFor(exchanges, elementBits(type.getElementType()));
  auto bufferType = BufferType::get(first.getContext(), 1, type.getShape(), type.getElementType(), home);
  auto buffer = AllocOp::create(b, loc, bufferType, IntegerAttr(), IntegerAttr(), IntegerAttr());
  Value slot = arith::ConstantIntOp::create(b, loc, 0, 32);
  StoreBufferOp::create(b, loc, *value, buffer, slot);
  for (const Exchange& one : exchanges) {
    ConvertLayoutOp op = one.op;
    b.setInsertionPoint(op);
    Value result = LoadBufferOp::create(b, op.getLoc(), withLayout(type, one.to), buffer, slot);
    RankedTensorType wanted = op.getResult().getType();
    if (one.transposed)
      result = tile::TransOp::create(b, op.getLoc(), wanted.clone(type.getElementType()), result, b.getDenseI64ArrayAttr({1, 0}));
    if (result.getType() != wanted) result = arith::IndexCastOp::create(b, op.getLoc(), wanted, result);
    Operation* trans = one.transposed ? op.getInput().getDefiningOp() : nullptr;
    op.getResult().replaceAllUsesWith(result);
    op.erase();
    if (trans && trans->use_empty()) trans->erase();
  }
  return success();
}

/// Conversions of one tile and of its transpose in one block go through one buffer.
LogicalResult exchangeThroughShared(func::FuncOp function) {
  llvm::MapVector<std::pair<Value, Block*>, SmallVector<Exchange>> tiles;
  function.walk([&](ConvertLayoutOp op) {
    if (std::optional<Exchange> one = exchangeOf(op)) tiles[{one->tile, op->getBlock()}].push_back(*one);
  });
  for (auto& [tile, exchanges] : tiles)
    if (failed(throughShared(exchanges))) return failure();
  return success();
}

/// The elements that there are lie in memory one after the other, row by row.
LogicalResult reshapeThroughShared(ReshapeOp op) {
  OpBuilder b(op);
  FailureOr<Value> value = toStorage(b, op, op.getInput());
  if (failed(value)) return failure();
  Type element = cast<RankedTensorType>(value->getType()).getElementType();
  int64_t count = 1;
  for (int64_t extent : op.getFrom()) count *= extent;
  auto shared = SharedAttr::get(op.getContext(), LinearLayout::identity(layout::kOffset, count, layout::dim(0)));
  auto buffer = AllocOp::create(b, op.getLoc(), BufferType::get(op.getContext(), 1, count, element, shared), IntegerAttr(), IntegerAttr(),
                                IntegerAttr());
  Value slot = arith::ConstantIntOp::create(b, op.getLoc(), 0, 32);
  StoreBufferOp::create(b, op.getLoc(), *value, buffer, slot, op.getFromAttr());
  Type loaded = op.getResult().getType().clone(element);
  Value result = LoadBufferOp::create(b, op.getLoc(), loaded, buffer, slot, b.getDenseI64ArrayAttr({}), op.getToAttr());
  if (loaded != op.getResult().getType()) result = arith::IndexCastOp::create(b, op.getLoc(), op.getResult().getType(), result);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

struct DecomposeConversionsPass : impl::DecomposeConversionsPassBase<DecomposeConversionsPass> {
  /// Calls `rewrite` on all operations of one kind, of which new ones may come.
  template <typename Op, typename Rewrite>
  LogicalResult each(Rewrite rewrite) {
    SmallVector<Op> ops;
    getOperation().walk([&](Op op) { ops.push_back(op); });
    for (Op op : ops) {
      try {
        if (failed(rewrite(op))) return failure();
      } catch (const Error& error) {  // the layout library's
        return op.emitOpError() << "cannot be decomposed: " << error.what();
      }
    }
    return success();
  }

  void runOnOperation() override {
    bool done = succeeded(each<ReshapeOp>(reshapeThroughShared)) && succeeded(each<tile::CumsumOp>(sumWithinWarps)) &&
                succeeded(each<tile::ReduceOp>(reduceAcrossWarps));
    try {
      done = done && succeeded(exchangeThroughShared(getOperation()));
    } catch (const Error& error) {  // the layout library's
      getOperation()->emitOpError() << "has a conversion that cannot be decomposed: " << error.what();
      done = false;
    }
    if (!done) signalPassFailure();
  }
};

}  // namespace

}  // namespace fattn::tilegpu
