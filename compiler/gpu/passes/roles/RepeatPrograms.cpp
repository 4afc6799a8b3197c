// SPDX-License-Identifier: Apache-2.0
// Lets each block take one program after another, each role at its own pace:
//
//   scf.if (is_copier) {                              scf.if (is_copier) {
//     scf.if (thread 0) {                               scf.if (thread 0) {
//       (copies of program_id)                            each_program { ^(%x, %y, %z): (copies of %x, %y, %z) }
//     }                                                 }
//   } else {                                   =>     } else {
//     set_registers 240 more                            set_registers 240 more
//     (the program of program_id)                       each_program { ^(%x, %y, %z): (the program of %x, %y, %z); barrier }
//   }                                                 }
//
// Pairs of programs make up for work that rises or falls along an axis, which is the one that the bounds of loops follow from. With
// `tilegpu.dynamic` blocks are handed their programs while they run instead, which makes up for any work.
//
// A block that is done with its program has the operands of the next one on their way: nothing waits for a block to begin, and what ends a
// program runs beside the next one's copies. Slots and barrier objects go on from where the program before has left them.
//
// Buffers that are filled once a program and have a slot for the next one (-tilegpu-allocate-shared) are used in turns, by the number of
// the program in the block, a fourth argument: the next program's boxes then arrive while this one runs.
//
// The barrier keeps what a program writes to shared memory behind what others still read of the one before; where only boxes are in shared
// memory their waits and releases do.
//
// Runs behind -tilegpu-split-roles, on functions with `tilegpu.repeats`; where the roles were not split the attribute goes. Test:
// tests/lit/gpu/repeat-programs.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/programs/AxisOfWork.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_REPEATPROGRAMSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// What follows `first` in its block becomes the region, but for the block's end.
EachProgramOp wrap(Block& block, Block::iterator first, func::FuncOp func, tile::Axis axis) {
  OpBuilder b(block.getTerminator());
  Location loc = func.getLoc();
  auto each = EachProgramOp::create(b, loc, ValueRange(), axis, func->hasAttr(kDynamicAttr));
  Type id = b.getI32Type();
  Block& body = each.getBody().emplaceBlock();
  body.addArguments({id, id, id}, {loc, loc, loc});
  body.getOperations().splice(body.end(), block.getOperations(), first, Block::iterator(each));
  b.setInsertionPointToEnd(&body);
  NextProgramOp::create(b, loc);
  each.walk([&](tile::ProgramIdOp program) {
    program.getResult().replaceAllUsesWith(body.getArgument(static_cast<unsigned>(program.getAxis())));
    program.erase();
  });
  return each;
}

/// Whether threads write shared memory by themselves.
bool storesToShared(EachProgramOp each) {
  WalkResult found = each.walk([](Operation* op) {
    auto copy = dyn_cast<CopyAsyncOp>(op);
    return isa<StoreBufferOp>(op) || (copy && !copy.isBulk()) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// The slot of the program that takes it: the first one of the block slot 0, the next one slot 1, and so on.
void takeSlotsInTurns(EachProgramOp each) {
  Block& body = each.getBody().front();
  Value slot;
  each.walk([&](Operation* op) {
    forEachSlot(op, [&](Value buffer, OpOperand& number) {
      auto alloc = buffer.getDefiningOp<AllocOp>();
      if (!alloc || !alloc->hasAttr(kSlotByProgramAttr)) return;
      if (!slot) {
        OpBuilder b = OpBuilder::atBlockBegin(&body);
        Value program = body.addArgument(b.getI32Type(), each.getLoc());
        Value last = arith::ConstantOp::create(b, each.getLoc(), b.getI32IntegerAttr(alloc.getResult().getType().getSlots() - 1));
        slot = arith::AndIOp::create(b, each.getLoc(), program, last);
      }
      number.set(slot);
    });
  });
}

/// In the last trip of the last loop, which begins with a wait for a slot: until the operands that lie in shared memory are used up, the
/// answer has come. A block that asked sooner would keep programs that others could begin.
void claimAhead(EachProgramOp each) {
  scf::ForOp last;
  each.walk([&](scf::ForOp loop) {
    if (!loop->getParentOfType<scf::ForOp>()) last = loop;
  });
  if (!last) return;
  OpBuilder b = OpBuilder::atBlockBegin(last.getBody());
  Location loc = each.getLoc();
  Value left = arith::SubIOp::create(b, loc, last.getUpperBound(), last.getInductionVar());
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, left, last.getStep());
  b.setInsertionPointToStart(scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/false).thenBlock());
  ClaimProgramOp::create(b, loc);
}

void repeat(func::FuncOp func, const Roles& roles) {
  const tile::Axis axis = func->hasAttr(kDynamicAttr) ? tile::Axis::x : axisOfWork(func);
  EachProgramOp copies = wrap(*roles.copier, roles.copier->begin(), func, axis);
  takeSlotsInTurns(copies);
  if (copies.getDynamic()) claimAhead(copies);
  if (roles.sender) wrap(*roles.sender, roles.sender->begin(), func, axis);
  Block::iterator first = roles.computing->begin();
  while (isa<SetRegistersOp>(*first)) ++first;
  EachProgramOp program = wrap(*roles.computing, first, func, axis);
  takeSlotsInTurns(program);
  if (!storesToShared(program)) return;
  OpBuilder b(program.getBody().front().getTerminator());
  BarrierOp::create(b, func.getLoc(), /*global=*/false);
}

class RepeatProgramsPass : public impl::RepeatProgramsPassBase<RepeatProgramsPass> {
 public:
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !func->hasAttr(kRepeatsAttr)) return;
    Roles roles = rolesOf(func);
    if (roles.copier && roles.computing)
      repeat(func, roles);
    else
      takeOneProgram(func);
  }
};

}  // namespace

}  // namespace fattn::tilegpu
