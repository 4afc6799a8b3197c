// SPDX-License-Identifier: Apache-2.0
// Lets tiles of any size grow to ones that threads, warps and matrix instructions divide evenly:
//
//   %x = tile.load %p : block_ptr<33x17xf16>            %x = tile.load %p {tilegpu.extents = [33, 17]} : block_ptr<48x32xf16>
//   %e = math.exp2 %x : tensor<33x17xf16>               %e = math.exp2 %x : tensor<48x32xf16>
//   %s = tile.reduce %e axis 1 {add}             =>     %z = arith.select (column < 17), %e, -0.0
//   tile.store %q, %s                                   %s = tile.reduce %z axis 1 {add}
//                                                       tile.store %q, %s {tilegpu.extents = [33]}
//
// A layout spreads the power of two in a size over threads and repeats the odd rest in each of them: of 33 x 17 elements every thread would
// hold all. So a size with an odd factor grows to the next multiple of 16, or of what the dots that have it need; small ones to the next
// power of two. Multiples of 8 that no dot objects to stay, and so do powers of two.
//
// Rows that are no whole number of sectors of global memory begin within one, and a box of the copy engine fetches the sectors at both ends
// of each of its rows: where a matrix unit reads such rows from shared memory they grow to whole lines of 128 bytes, so that a box is as
// wide as it can be. On an H200 the zeros cost less than narrow boxes. So do rows of sectors that no wider columns of a swizzle divide (240
// elements), where the line is not much longer: in columns of 32 bytes the unit reads shared memory at a part of its speed.
//
// An instruction's shallower form takes nearly as long as the deep one: a depth of 88 takes 11 instructions of 8 and 6 of 16, so that it
// grows to 96. Only where rows become whole columns of 64 bytes: on an H200 widths of 88 and 120 gain a fifth to a third, and one of 136,
// which would grow to 144, loses.
//
// Where a product has too few rows for all groups of warps these share its columns, each in parts of a power of two that lie in columns of
// shared memory of their own (-tilegpu-assign-layouts). Columns that have no such parts grow: 160 of two groups to 192, and 224 to 256.
//
// What lies in the padding is unspecified, so operations that let elements see each other mask it (PadTilesOps.cpp): reductions, running
// sums from the end, the depth of dots, and what accesses memory. Dots say how much of them is no padding (tilegpu.used): a matrix unit
// multiplies no more of it. A size becomes the same everywhere in a function, so that operations
// agree without more. A reshape that no layout follows becomes tilegpu.reshape, here also where nothing grows.
//
// Assumptions: A1 no tile is an argument or a result of the function; others are left alone. Test: tests/lit/gpu/pad-tiles.mlir.
#include "compiler/gpu/passes/sizes/PadTiles.h"

#include <map>

#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/TargetPass.h"
#include "compiler/transforms/Divisibility.h"
#include "fattn/Error.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PADTILESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

ArrayRef<int64_t> shapeOrNone(Type type) {
  if (auto pointer = dyn_cast<tile::BlockPtrType>(type)) return pointer.getShape();
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

/// The instruction that a matrix unit does by itself, where the dot has rows for it; null where not. Zeros in the depth cost less than
/// doing without the unit.
const gpu::MatrixInstruction* unitRow(tile::DotOp dot, const gpu::Target& target) {
  Type element = dot.getA().getType().getElementType();
  for (const gpu::MatrixInstruction& row : target.matrix)
    if (row.asynchronous && row.a.has(gpu::Home::Registers) && elementBits(element) == 16 && row.takes(tile::dtypeOf(element)) &&
        dot.getType().getDimSize(0) % row.m == 0)
      return &row;
  return nullptr;
}

/// What a dot's depth is made a multiple of: an instruction's depth, where fewer of these with zeros do than of its shallower form without,
/// and rows become whole columns of 64 bytes.
int64_t multipleOfDepth(tile::DotOp dot, const gpu::MatrixInstruction& row) {
  constexpr uint64_t kColumn = 64;
  const auto depth = static_cast<uint64_t>(dot.getA().getType().getDimSize(1)), whole = static_cast<uint64_t>(row.k);
  const auto least = static_cast<uint64_t>(granuleOf(row).k);
  const uint64_t bytes = llvm::alignTo(depth, whole) * elementBits(dot.getA().getType().getElementType()) / 8;
  const bool fewer = llvm::divideCeil(depth, whole) < llvm::divideCeil(depth, least);
  return fewer && bytes % kColumn == 0 ? row.k : granuleOf(row).k;
}

tile::LoadOp loadOf(Value operand) {
  auto trans = operand.getDefiningOp<tile::TransOp>();
  return (trans ? trans.getInput() : operand).getDefiningOp<tile::LoadOp>();
}

/// The elements of a row that boxes of the copy engine should bring for a dot: a line of up to 128 bytes, where rows of this width begin
/// within a sector of global memory, or lie in columns of one sector although the line is at most an eighth longer. 1 where that is no
/// matter.
int64_t lineOf(tile::LoadOp load, const gpu::Target& target) {
  constexpr int64_t kSector = 32, kLine = 128, kLittle = 8;
  bool boxes = target.copy(gpu::CopyKind::BulkTensor) && load.getType().getRank() == 2;
  if (!boxes || transforms::contiguousDim(load.getPtr()).value_or(-1) != 1) return 1;
  const int64_t bytes = elementBits(load.getType().getElementType()) / 8, row = load.getType().getDimSize(1) * bytes;
  if (row % kSector != 0) return std::min<int64_t>(kLine, llvm::PowerOf2Ceil(static_cast<uint64_t>(row))) / bytes;
  const int64_t longer = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(row), kLine)) - row;
  return row % (2 * kSector) != 0 && longer * kLittle <= row ? kLine / bytes : 1;
}

/// What a product's columns are made a multiple of, so that groups of warps can share them.
int64_t multipleOfColumns(tile::DotOp dot, const gpu::MatrixInstruction& row, int64_t warps) {
  const int bits = elementBits(dot.getB().getType().getElementType());
  if (warps % row.warps || dot.getB().getDefiningOp<tile::TransOp>()) return 1;  // transposed, the columns are rows of memory
  for (int64_t multiple = 1; multiple <= row.maxN; multiple *= 2) {
    DotShape size = sizeOf(dot);
    size.n = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(size.n), static_cast<uint64_t>(multiple)));
    if (sharedColumns(size, row, warps, bits, /*alongRows=*/false)) return multiple;
  }
  return 1;
}

/// What each size of a function becomes.
class Sizes {
 public:
  Sizes(func::FuncOp function, const gpu::Target& target, int64_t warps) {
    function.walk([&](tile::DotOp dot) {
      auto a = dot.getA().getType(), b = dot.getB().getType();
      const gpu::MatrixInstruction* row = instructionFor(dot, target);
      Type half = Float16Type::get(function.getContext());
      if (!row) row = instructionFor(half, half, sizeOf(dot), target);  // as -tilegpu-widen-dots will do
      if (!row) return;
      DotShape granule = granuleOf(*row);
      need(a.getDimSize(0), granule.m);
      need(b.getDimSize(1), granule.n);
      const gpu::MatrixInstruction* unit = unitRow(dot, target);
      need(a.getDimSize(1), std::max<int64_t>(multipleOfDepth(dot, *row), unit ? unit->k : 0));
      if (!unit) return;
      need(b.getDimSize(1), multipleOfColumns(dot, *unit, warps));
      for (Value operand : {dot.getA(), dot.getB()})
        if (auto load = loadOf(operand); load && load.getType().getRank() == 2) need(load.getType().getDimSize(1), lineOf(load, target));
    });
  }

  int64_t of(int64_t size) const {
    if (llvm::isPowerOf2_64(size)) return size;
    auto found = needs_.find(size);
    int64_t need = found == needs_.end() ? 1 : found->second;
    if (size % 8 == 0 && size % need == 0) return size;
    if (size < 8) return static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(size)));
    return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(size), static_cast<uint64_t>(std::max<int64_t>(16, need))));
  }

  Type of(Type type) const {
    SmallVector<int64_t> shape;
    for (int64_t size : shapeOrNone(type)) shape.push_back(of(size));
    if (auto pointer = dyn_cast<tile::BlockPtrType>(type)) return tile::BlockPtrType::get(shape, pointer.getElementType());
    if (auto tile = dyn_cast<RankedTensorType>(type)) return RankedTensorType::get(shape, tile.getElementType());
    return type;
  }

 private:
  void need(int64_t size, int64_t granule) {
    int64_t& known = needs_[size];
    known = std::max(known, granule);  // powers of two
  }
  std::map<int64_t, int64_t> needs_;
};

bool hasTileArguments(func::FuncOp function) {
  auto isTile = [](Type type) { return isa<RankedTensorType, tile::BlockPtrType>(type); };
  return llvm::any_of(function.getArgumentTypes(), isTile) || llvm::any_of(function.getResultTypes(), isTile);
}

void pad(func::FuncOp function, const Sizes& sizes) {
  auto grows = [&](Type type) { return sizes.of(type) != type; };
  SmallVector<PaddedOp> padded;
  function.walk([&](Operation* op) {
    if (llvm::none_of(op->getOperandTypes(), grows) && llvm::none_of(op->getResultTypes(), grows)) return;
    PaddedOp& one = padded.emplace_back(PaddedOp{.op = op, .operands = {}, .results = {}});
    for (Type type : op->getOperandTypes()) one.operands.emplace_back(shapeOrNone(type));
    for (Type type : op->getResultTypes()) one.results.emplace_back(shapeOrNone(type));
  });
  if (padded.empty()) return;
  function.walk([&](Operation* op) {
    for (Value result : op->getResults()) result.setType(sizes.of(result.getType()));
    for (Region& region : op->getRegions())
      for (BlockArgument argument : region.getArguments()) argument.setType(sizes.of(argument.getType()));
  });
  for (const PaddedOp& one : padded) adaptToPadding(one);
}

/// Reshapes that would put bits above an odd factor.
void replaceReshapes(func::FuncOp function) {
  SmallVector<tile::ReshapeOp> reshapes;
  function.walk([&](tile::ReshapeOp op) { reshapes.push_back(op); });
  for (tile::ReshapeOp op : reshapes) {
    ArrayRef<int64_t> from = op.getInput().getType().getShape(), to = op.getResult().getType().getShape();
    if (to.empty() || from.empty()) continue;
    layout::LinearLayout elements;
    for (auto [d, size] : llvm::enumerate(from)) {
      // Odd factors are repeats, which lie outside of everything.
      std::string name = layout::dim(static_cast<int>(d));
      elements = elements * layout::LinearLayout::identity(layout::kRegister, size & -size, name);
    }
    for (auto [d, size] : llvm::enumerate(from))
      elements = elements * layout::LinearLayout::identity(layout::kRegister, size / (size & -size), layout::dim(static_cast<int>(d)));
    try {
      (void)elements.asTile(static_cast<int>(from.size())).reshape(layout::Coords(to.begin(), to.end()));
    } catch (const Error&) {
      OpBuilder b(op);
      op.replaceAllUsesWith(ReshapeOp::create(b, op.getLoc(), op.getResult().getType(), op.getInput(), from, to).getResult());
      op.erase();
    }
  }
}

class PadTilesPass : public TargetPass<impl::PadTilesPassBase<PadTilesPass>> {
 public:
  using TargetPass::TargetPass;
  void run(ModuleOp module, const gpu::Target& machine) override {
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || hasTileArguments(function)) continue;
      pad(function, Sizes(function, machine, warps));
      replaceReshapes(function);
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
