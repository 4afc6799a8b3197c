// SPDX-License-Identifier: Apache-2.0
// What passes know of operations by trait instead of by lists; ODS files say which has which. Only MLIR derives from traits.
#ifndef FATTN_COMPILER_DIALECT_TILETRAITS_H
#define FATTN_COMPILER_DIALECT_TILETRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace fattn::tile {

/// Every element of the one result is an element of the one operand, wherever it lies there: what holds for all of the operand holds for
/// all of the result.
template <typename Op>
class MovesElements : public mlir::OpTrait::TraitBase<Op, MovesElements> {};  // NOLINT(bugprone-crtp-constructor-accessibility)

/// An element of the result takes no more than an index, a constant, or one element of each operand and an addition: the operation is
/// computed again rather than kept.
template <typename Op>
class CheapToRepeat : public mlir::OpTrait::TraitBase<Op, CheapToRepeat> {};  // NOLINT(bugprone-crtp-constructor-accessibility)

/// Tiles among operands and results have the same shape, and who holds an element of one holds that of the others.
template <typename Op>
class KeepsIndices : public mlir::OpTrait::TraitBase<Op, KeepsIndices> {};  // NOLINT(bugprone-crtp-constructor-accessibility)

/// Reads or writes the arrays that pointers lead to.
template <typename Op>
class AccessesArrays : public mlir::OpTrait::TraitBase<Op, AccessesArrays> {};  // NOLINT(bugprone-crtp-constructor-accessibility)

}  // namespace fattn::tile

#endif
