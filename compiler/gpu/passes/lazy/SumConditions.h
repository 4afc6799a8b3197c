// SPDX-License-Identifier: Apache-2.0
// Sums that a select_lazy compares with a constant: each thread asks about its own part of a sum, and nothing is exchanged.
#ifndef FATTN_COMPILER_GPU_PASSES_LAZY_SUMCONDITIONS_H
#define FATTN_COMPILER_GPU_PASSES_LAZY_SUMCONDITIONS_H

#include "compiler/gpu/passes/layouts/LanePartials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fattn::tilegpu {

/// not (sum < c), of one row of sums.
struct SumCondition {
  mlir::arith::CmpFOp cmp;
  mlir::Operation* negation;  ///< null where the comparison is one of not being below
  mlir::Value asked;          ///< the condition
};

/// The condition that begins with this comparison, if it is one, and nobody uses what is between.
std::optional<SumCondition> sumConditionOf(mlir::arith::CmpFOp cmp);

/// The constant divided by the number of parts, which is a power of two; nothing where that is not exact.
std::optional<llvm::APFloat> shareOf(mlir::Value constant, int64_t parts);

/// Compares parts, which have this type and take the sum's place, with this share of the constant.
void compareParts(const SumCondition& condition, mlir::RankedTensorType parts, const llvm::APFloat& share);

/// Whether some part of a line is true, as a row of this type.
mlir::Value anyPart(mlir::OpBuilder& b, mlir::Value parts, mlir::RankedTensorType row);

/// Rewrites what the operation asks, where sums of one kind are asked for.
void askParts(tile::SelectLazyOp lazy, LayoutPool& pool);

}  // namespace fattn::tilegpu

#endif
