// SPDX-License-Identifier: Apache-2.0
// A block that takes one program after another (tilegpu.each_program): a loop over their numbers, with the ids that belong to them.
//
//   each_program {                       n, x, y, z = those of the first program
//   ^(%x, %y, %z):                  =>   while n < pairs:
//     ...                                  ...
//     next_program                         n, x, y, z = those of the next program (ProgramIds)
//   }
//
// A fourth argument counts the block's programs. With `dynamic` the machine says which one comes next:
//
//   each_program dynamic { ... }    =>    while next = nextProgram(count), next exists: x, y, z = next; ...; count += 1
//
// Test: tests/lit/nvidia/programs.mlir.
#include "compiler/gpu/lower/Lowering.h"
#include "compiler/gpu/lower/ProgramIds.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

constexpr unsigned kIds = 3;  // of a program

/// The first values of a loop's are those of the ids.
ProgramIds::State stateOf(ValueRange values) {
  ProgramIds::State state;
  llvm::copy(values.take_front(state.size()), state.begin());
  return state;
}

LogicalResult lowerDynamic(Lowering& to, tilegpu::EachProgramOp op) {
  Block& source = op.getBody().front();
  const SmallVector<Type> types(kIds + 1, to.b.getI32Type());
  const SmallVector<Location> locations(types.size(), op.getLoc());
  auto loop = scf::WhileOp::create(to.b, types, ValueRange{to.i32(0)});
  OpBuilder::InsertionGuard guard(to.b);
  Block* test = to.b.createBlock(&loop.getBefore(), {}, types.front(), op.getLoc());
  FailureOr<Machine::NextProgram> next = to.machine.nextProgram(to, op, test->getArgument(0));
  if (failed(next)) return failure();
  scf::ConditionOp::create(to.b, next->exists, ValueRange{next->ids[0], next->ids[1], next->ids[2], test->getArgument(0)});
  Block* body = to.b.createBlock(&loop.getAfter(), {}, types, locations);
  for (BlockArgument argument : source.getArguments()) to.setScalar(argument, body->getArgument(argument.getArgNumber()));
  to.programCount = body->getArguments().back();
  if (failed(to.lowerBlock(source))) return failure();
  to.b.setLoc(op.getLoc());
  scf::YieldOp::create(to.b, ValueRange{arith::AddIOp::create(to.b, body->getArguments().back(), to.i32(1))});
  return success();
}

/// A block's memory goes with it, which an engine may still read.
void endStores(Lowering& to, tilegpu::EachProgramOp op) {
  auto stores = [](tilegpu::StoreBoxesOp store) {
    return tilegpu::isMadeElsewhere(store) ? WalkResult::advance() : WalkResult::interrupt();
  };
  if (op.walk(stores).wasInterrupted()) to.machine.endStores(to);
}

LogicalResult lowerPairs(Lowering& to, tilegpu::EachProgramOp op) {
  Value block = to.machine.programId(to.b, 0), blocks = to.machine.numPrograms(to.b, 0);
  ProgramIds ids(to.b, {to.extents[0], to.extents[1], to.extents[2]}, op.getAxis(), block, blocks);
  Block& source = op.getBody().front();
  SmallVector<Value> first(ids.first().begin(), ids.first().end());
  const bool counts = source.getNumArguments() > kIds;
  if (counts) first.push_back(to.i32(0));
  SmallVector<Type> types(first.size(), to.b.getI32Type());
  auto loop = scf::WhileOp::create(to.b, types, first);
  SmallVector<Location> locations(types.size(), op.getLoc());
  OpBuilder::InsertionGuard guard(to.b);
  Block* test = to.b.createBlock(&loop.getBefore(), {}, types, locations);
  scf::ConditionOp::create(to.b, ids.exists(stateOf(test->getArguments())), test->getArguments());
  Block* body = to.b.createBlock(&loop.getAfter(), {}, types, locations);
  ProgramIds::Program program = ids.program(stateOf(body->getArguments()));
  for (auto [id, value] : llvm::zip(source.getArguments(), program.ids)) to.setScalar(id, value);
  if (counts) to.setScalar(source.getArgument(kIds), body->getArguments().back());
  if (failed(to.lowerBlock(source))) return failure();
  to.b.setLoc(op.getLoc());
  SmallVector<Value> next(program.next.begin(), program.next.end());
  if (counts) next.push_back(arith::AddIOp::create(to.b, body->getArguments().back(), to.i32(1)));
  scf::YieldOp::create(to.b, next);
  return success();
}

}  // namespace

LogicalResult lowerPrograms(Lowering& to, tilegpu::EachProgramOp op) {
  if (failed(op.getDynamic() ? lowerDynamic(to, op) : lowerPairs(to, op))) return failure();
  endStores(to, op);
  return success();
}

}  // namespace fattn::gpu
