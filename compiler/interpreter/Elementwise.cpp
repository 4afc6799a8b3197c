// SPDX-License-Identifier: Apache-2.0
// arith and math on tiles and scalars, element by element.
#include "compiler/interpreter/Arithmetic.h"
#include "compiler/interpreter/Machine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::interpreter {

bool Machine::executeElementwise(Operation* op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    bind(constant, Data{literal(constant), {}});
    return true;
  }
  ElementFunction compute = elementFunction(op);
  if (!compute) return false;
  SmallVector<const Data*, 3> operands = llvm::map_to_vector<3>(op->getOperands(), [&](Value v) { return &get(v); });
  if (isa<arith::SelectOp>(op) && operands[1]->window) {
    bind(op->getResult(0), Data(*operands[operands[0]->scalar().i ? 1 : 2]));
    return true;
  }
  Data result;
  result.elements.resize(operands.back()->elements.size());
  for (size_t i = 0; i < result.elements.size(); ++i) {
    Element x[3];
    // The condition of a select may be one for all elements.
    for (size_t k = 0; k < operands.size(); ++k) x[k] = operands[k]->elements[operands[k]->elements.size() == 1 ? 0 : i];
    result.elements[i] = compute(x);
  }
  bind(op->getResult(0), std::move(result));
  return true;
}

}  // namespace fattn::interpreter
