// SPDX-License-Identifier: Apache-2.0
// Along which axis of the grid programs differ in length.
#ifndef FATTN_COMPILER_GPU_PASSES_PROGRAMS_AXISOFWORK_H
#define FATTN_COMPILER_GPU_PASSES_PROGRAMS_AXISOFWORK_H

#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::tilegpu {

/// The only axis that bounds of loops follow from, as far as they are computed. Else x.
tile::Axis axisOfWork(mlir::func::FuncOp func);

}  // namespace fattn::tilegpu

#endif
