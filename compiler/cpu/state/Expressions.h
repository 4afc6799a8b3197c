// SPDX-License-Identifier: Apache-2.0
// Expressions of elementwise values: which operations may vanish into the loop nest of a consumer, and who reads whom through them.
#ifndef FATTN_COMPILER_CPU_STATE_EXPRESSIONS_H
#define FATTN_COMPILER_CPU_STATE_EXPRESSIONS_H

#include "compiler/cpu/state/Tiles.h"
#include "mlir/IR/Operation.h"

namespace fattn::cpu {

bool isElementwise(mlir::Operation* op);
/// Needs its own scalar nest: elements move in ways that no vector follows.
bool isShuffle(mlir::Operation* op);
/// An elementwise operation whose result has no memory: whoever uses it reads its operands instead.
bool isTransparent(const Tiles& tiles, mlir::Operation* op);
/// Made of constants, indices and conversions alone: not worth memory.
bool isCheap(const Tiles& tiles, mlir::Value value);
/// Whether somebody reads the value who cannot compute it on the way.
bool needsMemory(const Tiles& tiles, mlir::Value value);

/// Calls `visit` for the value and for all that is read where it is computed. The flag is true for what is read at the same index only;
/// for the value itself it is `identity`.
void collectLeaves(const Tiles& tiles, mlir::Value value, bool identity, llvm::function_ref<void(mlir::Value, bool)> visit);
/// Whether an operation that reads the value, itself or through values without memory, matches.
bool anyUse(const Tiles& tiles, mlir::Value value, llvm::function_ref<bool(mlir::Operation*)> matches);

}  // namespace fattn::cpu

#endif
