// SPDX-License-Identifier: Apache-2.0
// A block that takes one program after another (tilegpu.each_program): a loop over their numbers, with the ids that belong to them.
//
//   each_program {                       n, x, y, z = those of the first program
//   ^(%x, %y, %z):                  =>   while n < pairs:
//     ...                                  ...
//     next_program                         n, x, y, z = those of the next program (ProgramIds)
//   }
//
// A fourth argument counts the block's programs.
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

}  // namespace

LogicalResult lowerPrograms(Lowering& to, tilegpu::EachProgramOp op) {
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
  to.b.setInsertionPointAfter(loop);
  auto stores = [](tilegpu::StoreBoxesOp store) {
    return tilegpu::isMadeElsewhere(store) ? WalkResult::advance() : WalkResult::interrupt();
  };
  if (source.walk(stores).wasInterrupted()) to.machine.endStores(to);
  return success();
}

}  // namespace fattn::gpu
