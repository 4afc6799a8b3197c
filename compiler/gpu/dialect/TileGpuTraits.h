// SPDX-License-Identifier: Apache-2.0
// What passes know of `tilegpu` operations by trait, beside those of compiler/dialect/TileTraits.h. MLIR alone derives from traits.
#ifndef FATTN_COMPILER_GPU_DIALECT_TILEGPUTRAITS_H
#define FATTN_COMPILER_GPU_DIALECT_TILEGPUTRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace fattn::tilegpu {

/// Lowers to what all warps of the block have to execute, whatever is around it: it cannot stand where warps decide by themselves.
template <typename Op>
class NeedsAllWarps : public mlir::OpTrait::TraitBase<Op, NeedsAllWarps> {};  // NOLINT(bugprone-crtp-constructor-accessibility)

/// Waits, or lets others go on; accesses no element itself.
template <typename Op>
class Synchronizes : public mlir::OpTrait::TraitBase<Op, Synchronizes> {};  // NOLINT(bugprone-crtp-constructor-accessibility)

}  // namespace fattn::tilegpu

#endif
