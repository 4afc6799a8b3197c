// SPDX-License-Identifier: Apache-2.0
// Which access of the program before scheduling an access comes from: a number in its location, for -tilegpu-check-order.
//
//   tile.load ... loc("k.cpp":7:3)   =>   tile.load ... loc(fused<array<i64: 4, 0>>["k.cpp":7:3])
//
// A location changes no pass's work and follows an operation wherever it is cloned or moved to. The second number tells copies of an access
// apart that each run once a trip: whoever makes such a copy says so (relabelClone). Test files may write the attribute
// `tilegpu.source = array<i64: 4, 0>` instead.
#ifndef FATTN_COMPILER_GPU_DIALECT_SOURCELABELS_H
#define FATTN_COMPILER_GPU_DIALECT_SOURCELABELS_H

#include <optional>
#include <string>

#include "mlir/IR/Operation.h"

namespace fattn::tilegpu {

inline constexpr llvm::StringLiteral kSourceAttr = "tilegpu.source";
/// On a tilegpu.dot_async: the labels of the reads of shared memory that it took over.
inline constexpr llvm::StringLiteral kSourceOfAAttr = "tilegpu.source_a", kSourceOfBAttr = "tilegpu.source_b";
/// The same of what a warp group reads, where each reads operands of its own.
std::string sourceOfAAttr(size_t group);
std::string sourceOfBAttr(size_t group);

struct SourceLabel {
  int64_t source = 0;  ///< the access, counted from 0
  int64_t clone = 0;   ///< which copy of it; 0 is the first
};

/// None where the operation is of no access of the program before scheduling, or that was not labelled.
std::optional<SourceLabel> sourceLabelOf(mlir::Operation* op);
std::optional<SourceLabel> sourceLabelOf(mlir::Operation* op, llvm::StringRef attribute);
void setSourceLabel(mlir::Operation* op, SourceLabel label);
/// Notes the label of `from` on `to` as this attribute. Does nothing where there is none.
void keepSourceLabel(mlir::Operation* from, mlir::Operation* to, llvm::StringRef attribute);
/// Gives `to`, a part of `from`, the label of the whole. Does nothing where there is none.
void copySourceLabel(mlir::Operation* from, mlir::Operation* to);
/// Makes `op`, a clone with its original's label, a copy that runs beside the original. Does nothing where there is no label.
void relabelClone(mlir::Operation* op, int64_t clone);
/// Gives `op` and everything in its regions its own location back.
void removeSourceLabels(mlir::Operation* op);

}  // namespace fattn::tilegpu

#endif
