// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/programs/AxisOfWork.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::tilegpu {

tile::Axis axisOfWork(func::FuncOp func) {
  SetVector<Value> from;
  func.walk([&](scf::ForOp loop) { from.insert_range(ValueRange{loop.getLowerBound(), loop.getUpperBound()}); });
  std::optional<tile::Axis> axis;
  for (size_t i = 0; i < from.size(); ++i) {
    Operation* op = from[i].getDefiningOp();
    if (!op || !isMemoryEffectFree(op)) continue;
    from.insert_range(op->getOperands());
    auto program = dyn_cast<tile::ProgramIdOp>(op);
    if (!program) continue;
    if (axis && *axis != program.getAxis()) return tile::Axis::x;
    axis = program.getAxis();
  }
  return axis.value_or(tile::Axis::x);
}

}  // namespace fattn::tilegpu
