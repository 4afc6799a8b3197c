// SPDX-License-Identifier: Apache-2.0
// Begins the dots that a matrix unit does by itself, and waits for each:
//
//   %x = load_buffer %k[%s] : -> 64x128                %d = dot_async %q[0], %k[%s], %c {transposed_b}
//   %y = trans %x                                =>    %e = dot_wait %d
//   %e = tile.dot %q0, %y, %c {instruction}
//
// An operand that the instruction takes from shared memory is a load of a buffer in a layout that the unit reads, transposed or not; the
// load goes. -tilegpu-place-waits moves the waits down to where they are needed.
//
// A first operand that is computed, and that warps would exchange through shared memory to have it in registers, is stored where the unit
// reads it, as it is or before it is transposed:
//
//   %y = trans %x                                      %b = alloc : 1 x 128x64, swizzled
//   %z = convert_layout %y (of kind "shared")    =>    store_buffer %x, %b[0]
//   %e = tile.dot %z, %k0, %c {instruction}            %d = dot_async %b[0], %k[%s], %c {transposed_a}
//
// Where an operand is anything else by now, the dot stays: its tiles have the fragments of an instruction of registers, which it becomes.
// Assumption: A1 nothing writes the buffer between the load and the dot; else the dot stays, too. Test: tests/lit/gpu/async-dots.mlir.
#include "compiler/gpu/dialect/SourceLabels.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/dots/ExchangedOperand.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_ASYNCDOTSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// A load whose tile, or the transpose of it, is an operand.
struct SharedOperand {
  LoadBufferOp load;
  tile::TransOp trans;
};

bool isReadableByUnit(BufferType buffer, const UnitReads& reads) {
  const layout::LinearLayout& layout = buffer.getLayout().getLayout();
  return llvm::any_of(matrixUnitLayouts(buffer.getShape(), elementBits(buffer.getElementType()), reads),
                      [&](const layout::SharedLayout& candidate) { return candidate.elements() == layout; });
}

std::optional<SharedOperand> sharedOperand(tile::DotOp dot, unsigned number) {
  SharedOperand result;
  Value operand = dot->getOperand(number);
  result.trans = operand.getDefiningOp<tile::TransOp>();
  result.load = (result.trans ? result.trans.getInput() : operand).getDefiningOp<LoadBufferOp>();
  if (!result.load || result.load->getBlock() != dot->getBlock()) return std::nullopt;
  if (!result.load.getOffsets().empty() || !result.load.getExtents().empty()) return std::nullopt;
  if (!isReadableByUnit(result.load.getBuffer().getType(), unitReadsOf(dot, number, static_cast<bool>(result.trans))) ||
      isWrittenBetween(result.load, dot, result.load.getBuffer()))
    return std::nullopt;
  return result;
}

/// Stores the operand where the unit reads it, at the place of the last conversion; what another dot has stored before is read again.
Value storeForUnit(tile::DotOp dot, const ExchangedOperand& operand, Value& slot) {
  for (Operation* user : operand.source.getUsers()) {
    auto store = dyn_cast<StoreBufferOp>(user);
    if (!store || store->getBlock() != dot->getBlock() || !store->isBeforeInBlock(dot)) continue;
    if (store.getBuffer().getType().getLayout().getLayout() != operand.home || isWrittenBetween(store, dot, store.getBuffer())) continue;
    slot = store.getSlot();
    return store.getBuffer();
  }
  auto type = cast<RankedTensorType>(operand.source.getType());
  OpBuilder b(operand.chain.back());
  Location loc = dot.getLoc();
  auto buffer = BufferType::get(b.getContext(), 1, type.getShape(), type.getElementType(), SharedAttr::get(b.getContext(), operand.home));
  Value alloc = AllocOp::create(b, loc, buffer, IntegerAttr(), IntegerAttr(), IntegerAttr());
  slot = arith::ConstantIntOp::create(b, loc, 0, 32);
  StoreBufferOp::create(b, loc, operand.source, alloc, slot);
  return alloc;
}

void eraseIfUnused(const SharedOperand& operand) {
  for (Operation* op : {static_cast<Operation*>(operand.trans), static_cast<Operation*>(operand.load)})
    if (op && op->use_empty()) op->erase();
}

/// The instruction of registers that has the dot's fragments, where the unit cannot read shared memory after all.
void useRegisters(tile::DotOp dot) { dot->removeAttr(kInstructionAttr); }

void begin(tile::DotOp dot, const DotInstruction& instruction) {
  std::optional<SharedOperand> a, b = sharedOperand(dot, 1);
  if (instruction.sharedA) a = sharedOperand(dot, 0);
  if (!b || (instruction.sharedA && !a)) return useRegisters(dot);
  OpBuilder builder(dot);
  auto text = dot->getAttrOfType<InstructionAttr>(kInstructionAttr);
  Value left = a ? Value(a->load.getBuffer()) : dot.getA();
  Value slot = a ? a->load.getSlot() : Value();
  bool transposedA = a && a->trans;
  std::optional<ExchangedOperand> computed = exchangedOperand(dot);
  if (computed) {
    left = storeForUnit(dot, *computed, slot), transposedA = computed->transposed;
    text = InstructionAttr::get(text.getContext(), text.getName(), text.getDepth(), /*sharedA=*/true, text.getSharedB());
  }
  auto inFlight = DotAsyncOp::create(builder, dot.getLoc(), dot.getType(), dot.getAcc(), b->load.getBuffer(), b->load.getSlot(), left, slot,
                                     /*others=*/ValueRange(), text, transposedA, /*transposed_b=*/static_cast<bool>(b->trans));
  for (StringRef name : {kOwnedAttr, kPairedAttr, kRunsOnAttr, kUsedAttr})
    if (Attribute kept = dot->getAttr(name)) inFlight->setAttr(name, kept);
  keepSourceLabel(b->load, inFlight, kSourceOfBAttr);
  if (a) keepSourceLabel(a->load, inFlight, kSourceOfAAttr);
  auto done = DotWaitOp::create(builder, dot.getLoc(), dot.getType(), inFlight.getResult(), IntegerAttr(), UnitAttr());
  dot.getResult().replaceAllUsesWith(done.getResult());
  dot.erase();
  if (a) eraseIfUnused(*a);
  eraseIfUnused(*b);
  if (computed)
    for (Operation* op : llvm::reverse(computed->chain)) op->erase();
}

class AsyncDotsPass : public impl::AsyncDotsPassBase<AsyncDotsPass> {
 public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration()) continue;
      try {
        SmallVector<tile::DotOp> dots;
        func.walk([&](tile::DotOp dot) { dots.push_back(dot); });
        for (tile::DotOp dot : dots)
          if (std::optional<DotInstruction> instruction = instructionOf(dot); instruction && instruction->sharedB) begin(dot, *instruction);
      } catch (const Error& error) {
        func.emitError() << error.what();
        return signalPassFailure();
      }
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
