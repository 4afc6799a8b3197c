// SPDX-License-Identifier: Apache-2.0
// Values that enter and leave loops and branches: tiles in buffers that outlive the body, scalars and block pointers as values ("parts").
#ifndef FATTN_COMPILER_CPU_OPERATIONS_CARRIED_H
#define FATTN_COMPILER_CPU_OPERATIONS_CARRIED_H

#include <optional>

#include "compiler/cpu/builder/View.h"

namespace fattn::cpu {

struct Emission;

/// Appends the parts of a value: none of a tile; base, shape, strides and offsets of a block pointer; a scalar itself.
void appendParts(Emission& e, mlir::Value value, llvm::SmallVectorImpl<mlir::Value>& out);
void appendPartTypes(mlir::Value value, llvm::SmallVectorImpl<mlir::Type>& out);
/// Gives values their parts and their tiles. `advanced`: the block pointer from which each value has only advanced, where that is known;
/// its base, shape and strides are the value's, too. Empty: known of none.
void bindValues(Emission& e, mlir::ValueRange values, mlir::ValueRange parts, llvm::ArrayRef<View> tiles,
                llvm::ArrayRef<std::optional<BlockPtr>> advanced = {});
/// From now on the tiles among the values return their buffers when they are dead.
void ownTiles(Emission& e, mlir::ValueRange values);

/// Room for the tiles among results; `types`: of the parts of the others.
llvm::SmallVector<View> allocateResults(Emission& e, mlir::ValueRange results, llvm::SmallVectorImpl<mlir::Type>& types);
/// A buffer that holds `value` and belongs to the caller: the value's own if `user` is the last to need it, else a copy.
View ownedCopy(Emission& e, mlir::Value value, mlir::Operation* user, int lane);
/// Emits a block of structured control flow: its tiles end in `into`. Gives the parts of what it hands on.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> emitSide(Emission& e, mlir::Block& from, mlir::ValueRange yielded,
                                                         llvm::ArrayRef<View> into);

}  // namespace fattn::cpu

#endif
