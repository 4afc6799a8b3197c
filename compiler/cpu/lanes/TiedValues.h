// SPDX-License-Identifier: Apache-2.0
// Which values of a loop or a branch stand for one another: what goes in, what the body sees, what it hands on, what comes out.
#ifndef FATTN_COMPILER_CPU_LANES_TIEDVALUES_H
#define FATTN_COMPILER_CPU_LANES_TIEDVALUES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Operation.h"

namespace fattn::cpu {

/// Calls `fn` with (init, argument, yielded, result) for every value that a loop carries, and with (one side, other side, one side,
/// result) for every result of a branch. Other operations have none.
void forEachTied(mlir::Operation* op, llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value, mlir::Value)> fn);

}  // namespace fattn::cpu

#endif
