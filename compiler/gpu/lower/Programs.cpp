// SPDX-License-Identifier: Apache-2.0
// A block that takes one program after another (tilegpu.each_program): a loop over their numbers, with the ids that belong to them.
//
//   each_program {                       n, x, y, z = those of the first program
//   ^(%x, %y, %z):                  =>   while n < pairs:
//     ...                                  ...
//     next_program                         n, x, y, z = those of the next program (ProgramIds)
//   }
//
// Test: tests/lit/nvidia/programs.mlir.
#include "compiler/gpu/lower/Lowering.h"
#include "compiler/gpu/lower/ProgramIds.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

ProgramIds::State stateOf(ValueRange values) {
  ProgramIds::State state;
  llvm::copy(values, state.begin());
  return state;
}

}  // namespace

LogicalResult lowerPrograms(Lowering& to, tilegpu::EachProgramOp op) {
  Value block = to.machine.programId(to.b, 0), blocks = to.machine.numPrograms(to.b, 0);
  ProgramIds ids(to.b, {to.extents[0], to.extents[1], to.extents[2]}, block, blocks);
  SmallVector<Type> types(ids.first().size(), to.b.getI32Type());
  auto loop = scf::WhileOp::create(to.b, types, ids.first());
  SmallVector<Location> locations(types.size(), op.getLoc());
  OpBuilder::InsertionGuard guard(to.b);
  Block* test = to.b.createBlock(&loop.getBefore(), {}, types, locations);
  scf::ConditionOp::create(to.b, ids.exists(stateOf(test->getArguments())), test->getArguments());
  Block* body = to.b.createBlock(&loop.getAfter(), {}, types, locations);
  Block& source = op.getBody().front();
  for (auto [id, value] : llvm::zip_equal(source.getArguments(), ids.ids(stateOf(body->getArguments())))) to.setScalar(id, value);
  if (failed(to.lowerBlock(source))) return failure();
  to.b.setLoc(op.getLoc());
  scf::YieldOp::create(to.b, ids.next(stateOf(body->getArguments())));
  return success();
}

}  // namespace fattn::gpu
