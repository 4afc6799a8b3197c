// SPDX-License-Identifier: Apache-2.0
// A block that takes one program after another (tilegpu.each_program): a loop over their numbers, with the ids that belong to them.
//
//   each_program {                       n, x, y, z = those of the first program
//   ^(%x, %y, %z):                  =>   while n < pairs:
//     ...                                  ...
//     next_program                         n, x, y, z = those of the next program (ProgramIds)
//   }
//
// A fourth argument counts the block's programs, and those behind it are numbers that the block carries. With `dynamic` the machine says
// which one comes next:
//
//   each_program dynamic { ... }    =>    while next = nextProgram(count), next exists: x, y, z = next; ...; count += 1
//
// or, where a program takes the next one before its end:
//
//   each_program dynamic {                next = nextProgram(0)
//     ...                                 while next exists:
//     take_program                 =>       x, y, z = next; ...; next = nextProgram(count + 1); ...; count += 1
//     ...
//   }
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

SmallVector<Value> scalarsOf(Lowering& to, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return to.scalar(value); });
}

/// The body of the loop over a role's programs, for the program of these ids, this number and what is carried; then the loop's next values.
LogicalResult lowerProgram(Lowering& to, tilegpu::EachProgramOp op, Block& body, llvm::function_ref<SmallVector<Value>(Value)> next) {
  Block& source = op.getBody().front();
  for (BlockArgument argument : source.getArguments()) to.setScalar(argument, body.getArgument(argument.getArgNumber()));
  to.programCount = body.getArgument(kIds);
  if (failed(to.lowerBlock(source))) return failure();
  to.b.setLoc(op.getLoc());
  SmallVector<Value> values = next(arith::AddIOp::create(to.b, body.getArgument(kIds), to.i32(1)));
  llvm::append_range(values, scalarsOf(to, source.getTerminator()->getOperands()));
  scf::YieldOp::create(to.b, values);
  return success();
}

/// The next program is taken at the end of one. Values of the loop: its number, and what is carried.
LogicalResult lowerDynamic(Lowering& to, tilegpu::EachProgramOp op) {
  SmallVector<Value> inits = {to.i32(0)};
  llvm::append_range(inits, scalarsOf(to, op.getInits()));
  const SmallVector<Type> types(kIds + inits.size(), to.b.getI32Type());
  const SmallVector<Location> locations(types.size(), op.getLoc());
  auto loop = scf::WhileOp::create(to.b, types, inits);
  OpBuilder::InsertionGuard guard(to.b);
  Block* test = to.b.createBlock(&loop.getBefore(), {}, ArrayRef(types).drop_front(kIds), ArrayRef(locations).drop_front(kIds));
  FailureOr<Machine::NextProgram> next = to.machine.nextProgram(to, op, test->getArgument(0));
  if (failed(next)) return failure();
  SmallVector<Value> values(next->ids.begin(), next->ids.end());
  llvm::append_range(values, test->getArguments());
  scf::ConditionOp::create(to.b, next->exists, values);
  Block* body = to.b.createBlock(&loop.getAfter(), {}, types, locations);
  return lowerProgram(to, op, *body, [](Value count) { return SmallVector<Value>{count}; });
}

/// The next program is taken within one. Values of the loop: whether there is such a program, its ids and number, and what is carried.
LogicalResult lowerTaking(Lowering& to, tilegpu::EachProgramOp op) {
  FailureOr<Machine::NextProgram> first = to.machine.nextProgram(to, op, to.i32(0));
  if (failed(first)) return failure();
  auto valuesOf = [](const Machine::NextProgram& next, Value count) {
    return SmallVector<Value>{next.exists, next.ids[0], next.ids[1], next.ids[2], count};
  };
  SmallVector<Value> inits = valuesOf(*first, to.i32(0));
  llvm::append_range(inits, scalarsOf(to, op.getInits()));
  const SmallVector<Type> all(ValueRange(inits).getTypes()), types(all.size() - 1, to.b.getI32Type());
  auto loop = scf::WhileOp::create(to.b, types, inits);
  OpBuilder::InsertionGuard guard(to.b);
  Block* test = to.b.createBlock(&loop.getBefore(), {}, all, SmallVector<Location>(all.size(), op.getLoc()));
  scf::ConditionOp::create(to.b, test->getArgument(0), test->getArguments().drop_front());
  Block* body = to.b.createBlock(&loop.getAfter(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  return lowerProgram(to, op, *body, [&](Value count) { return valuesOf(*to.taken, count); });
}

bool takesWithin(tilegpu::EachProgramOp op) {
  auto taking = op.getBody().front().getOps<tilegpu::TakeProgramOp>();
  return !taking.empty();
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
  const size_t state = first.size();
  if (counts) first.push_back(to.i32(0));
  llvm::append_range(first, scalarsOf(to, op.getInits()));
  SmallVector<Type> types(first.size(), to.b.getI32Type());
  auto loop = scf::WhileOp::create(to.b, types, first);
  SmallVector<Location> locations(types.size(), op.getLoc());
  OpBuilder::InsertionGuard guard(to.b);
  Block* test = to.b.createBlock(&loop.getBefore(), {}, types, locations);
  scf::ConditionOp::create(to.b, ids.exists(stateOf(test->getArguments())), test->getArguments());
  Block* body = to.b.createBlock(&loop.getAfter(), {}, types, locations);
  ProgramIds::Program program = ids.program(stateOf(body->getArguments()));
  for (auto [id, value] : llvm::zip(source.getArguments(), program.ids)) to.setScalar(id, value);
  auto further = body->getArguments().drop_front(state);
  for (auto [argument, value] : llvm::zip_equal(source.getArguments().drop_front(kIds), further)) to.setScalar(argument, value);
  if (failed(to.lowerBlock(source))) return failure();
  to.b.setLoc(op.getLoc());
  SmallVector<Value> next(program.next.begin(), program.next.end());
  if (counts) next.push_back(arith::AddIOp::create(to.b, further.front(), to.i32(1)));
  llvm::append_range(next, scalarsOf(to, source.getTerminator()->getOperands()));
  scf::YieldOp::create(to.b, next);
  return success();
}

}  // namespace

LogicalResult takeProgram(Lowering& to, tilegpu::TakeProgramOp op) {
  Value count = arith::AddIOp::create(to.b, to.programCount, to.i32(1));
  FailureOr<Machine::NextProgram> next = to.machine.nextProgram(to, op->getParentOfType<tilegpu::EachProgramOp>(), count);
  if (failed(next)) return failure();
  to.taken = *next;
  return success();
}

LogicalResult lowerPrograms(Lowering& to, tilegpu::EachProgramOp op) {
  auto lower = !op.getDynamic() ? lowerPairs : takesWithin(op) ? lowerTaking : lowerDynamic;
  if (failed(lower(to, op))) return failure();
  endStores(to, op);
  return success();
}

}  // namespace fattn::gpu
