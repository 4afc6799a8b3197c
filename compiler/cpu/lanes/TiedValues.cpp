// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/lanes/TiedValues.h"

#include "compiler/dialect/Tile.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

using Visit = function_ref<void(Value, Value, Value, Value)>;

void visitFor(scf::ForOp loop, Visit fn) {
  auto yielded = loop.getBody()->getTerminator()->getOperands();
  for (auto [init, arg, next, result] : llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), yielded, loop.getResults()))
    fn(init, arg, next, result);
}

void visitWhile(scf::WhileOp loop, Visit fn) {
  for (auto [init, arg, next] : llvm::zip_equal(loop.getInits(), loop.getBeforeArguments(), loop.getYieldOp().getOperands()))
    fn(init, arg, next, arg);
  for (auto [passed, arg, result] : llvm::zip_equal(loop.getConditionOp().getArgs(), loop.getAfterArguments(), loop.getResults()))
    fn(passed, arg, passed, result);
}

void visitIf(scf::IfOp branch, Visit fn) {
  if (!branch.getNumResults()) return;
  auto then = branch.thenYield().getOperands(), otherwise = branch.elseYield().getOperands();
  for (auto [one, other, result] : llvm::zip_equal(then, otherwise, branch.getResults())) fn(one, other, one, result);
}

void visitLazy(tile::SelectLazyOp lazy, Visit fn) {
  auto exact = lazy.getExact().front().getTerminator()->getOperands();
  for (auto [usual, rare, result] : llvm::zip_equal(lazy.getUsual(), exact, lazy.getResults())) fn(usual, rare, usual, result);
}

}  // namespace

void forEachTied(Operation* op, Visit fn) {
  TypeSwitch<Operation*>(op)
      .Case<scf::ForOp>([&](auto loop) { visitFor(loop, fn); })
      .Case<scf::WhileOp>([&](auto loop) { visitWhile(loop, fn); })
      .Case<scf::IfOp>([&](auto branch) { visitIf(branch, fn); })
      .Case<tile::SelectLazyOp>([&](auto lazy) { visitLazy(lazy, fn); });
}

}  // namespace fattn::cpu
