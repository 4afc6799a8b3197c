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
// memory, and slots that warps hand over, their waits and releases do.
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

/// Whether warps hand a buffer's slots to each other, and nothing else lies in its bytes.
bool isHandedOver(Value buffer, func::FuncOp func) {
  if (!llvm::any_of(buffer.getUsers(), llvm::IsaPred<SlotCommitOp>)) return false;
  return llvm::none_of(func.getBody().front().getOps<AllocOp>(),
                       [&](AllocOp other) { return other.getResult() != buffer && overlap(other.getResult(), buffer); });
}

/// Whether threads write shared memory by themselves that no slot is waited for.
bool storesToShared(EachProgramOp each) {
  auto func = each->getParentOfType<func::FuncOp>();
  WalkResult found = each.walk([&](Operation* op) {
    auto copy = dyn_cast<CopyAsyncOp>(op);
    auto store = dyn_cast<StoreBufferOp>(op);
    return (store && !isHandedOver(store.getBuffer(), func)) || (copy && !copy.isBulk()) ? WalkResult::interrupt() : WalkResult::advance();
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

/// The last loop of a program, and the loops in it down to the innermost one: of each level the last.
SmallVector<scf::ForOp> lastLoops(EachProgramOp each) {
  SmallVector<scf::ForOp> loops;
  for (Operation* around = each; around;) {
    scf::ForOp last;
    around->walk([&](scf::ForOp loop) {
      auto parent = loop->getParentOfType<scf::ForOp>();
      if (loops.empty() ? !parent : parent == loops.back()) last = loop;
    });
    around = last;
    if (last) loops.push_back(last);
  }
  return loops;
}

/// In the last trip of the innermost loop, in that of those around it, which begins with a wait for a slot: until the operands that lie in
/// shared memory are used up, the answer has come. A block that asked sooner would keep programs that others could begin, and its copies
/// would stand behind the question.
void claimAhead(EachProgramOp each) {
  const SmallVector<scf::ForOp> loops = lastLoops(each);
  if (loops.empty()) return;
  OpBuilder b(each.getContext());
  Location loc = each.getLoc();
  Value isLast;
  for (scf::ForOp loop : loops) {
    b.setInsertionPointToStart(loop.getBody());
    Value left = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getInductionVar());
    Value here = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, left, loop.getStep());
    isLast = isLast ? arith::AndIOp::create(b, loc, isLast, here).getResult() : here;
  }
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
