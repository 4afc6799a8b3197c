// SPDX-License-Identifier: Apache-2.0
// Gives results that a loop only adds to memory an owner among the warp groups, as far as an order of the loop depends on it:
//
//   %z = convert_layout (trans %x) (of kind "shared")         store_buffer %x, %b[0]             // %b: alloc : 2 x 128x64, swizzled
//   %e = tile.dot %z, %k0, 0 {instruction}            =>      %y = load_buffer %b[0]
//   tile.accumulate %p, %e                                    %e = tile.dot (trans %y), %k0, 0 {instruction, tilegpu.owned}
//                                                             tile.accumulate %p, %e
//
// Each group has a part of %x, and the product needs all of it. Where every group computes a part of the result, all of them have to meet
// twice in a trip: before they read what the others have written, and before they write the next. Where one group computes all of it, and
// another one all of the next trip's, only the owner waits for the others, for data that is old by then. The matrix unit reads as much
// of shared memory for a wide product of one group as for a narrow one of each.
//
// The store becomes a node of the loop, and the buffer has a slot for each group, so that an order may put the product into a later trip.
// -tilegpu-assign-owners does the rest.
//
// -tilegpu-assign-layouts has chosen the dots (`tilegpu.owned`), and their fragments. Conditions, else the mark goes: C1 the unit reads the
// first operand from shared memory because warps exchange it; C2 the result is only added to memory (OwnedDots.h).
//
// Runs before -tilegpu-schedule-loops. Test: tests/lit/gpu/owners.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/dots/ExchangedOperand.h"
#include "compiler/gpu/passes/roles/OwnedDots.h"
#include "fattn/Error.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_EXCHANGEOPERANDSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Stores what is exchanged at the place of the last conversion, and lets the dot read it from there.
void exchange(tile::DotOp dot, int64_t groups) {
  const ExchangedOperand operand = *exchangedOperand(dot);
  auto type = cast<RankedTensorType>(operand.source.getType());
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  Location loc = dot.getLoc();
  OpBuilder start = OpBuilder::atBlockBegin(&dot->getParentOfType<func::FuncOp>().getBody().front()), outside(loop),
            b(operand.chain.back());
  auto buffer =
      BufferType::get(b.getContext(), groups, type.getShape(), type.getElementType(), SharedAttr::get(b.getContext(), operand.home));
  auto alloc = AllocOp::create(start, loc, buffer, IntegerAttr(), IntegerAttr(), IntegerAttr());
  alloc->setAttr(kExchangeAttr, b.getUnitAttr());
  Value slot = arith::ConstantIntOp::create(outside, loc, 0, 32);
  StoreBufferOp::create(b, loc, operand.source, alloc, slot);
  readFromBuffer(dot, type, alloc, slot, operand.transposed);
  dot->setAttr(kOwnedAttr, b.getUnitAttr());
  for (Operation* op : llvm::reverse(operand.chain)) op->erase();
}

class ExchangeOperandsPass : public impl::ExchangeOperandsPassBase<ExchangeOperandsPass> {
 public:
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration()) return;
    try {
      SmallVector<tile::DotOp> dots;
      func.walk([&](tile::DotOp dot) {
        if (dot->hasAttr(kOwnedAttr)) dots.push_back(dot);
      });
      for (tile::DotOp dot : dots)
        if (exchangedOperand(dot) && mayHaveOwner(dot))
          exchange(dot, warpsOf(func) / *targetOf(func).warpGroup);
        else
          dot->removeAttr(kOwnedAttr);
    } catch (const Error& error) {
      func.emitError() << error.what();
      signalPassFailure();
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
