// SPDX-License-Identifier: Apache-2.0
// What -tilegpu-defer-reductions looks for: a value that a loop carries, and all that is computed from it, as parts of sums.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_CARRIEDPARTS_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_CARRIEDPARTS_H

#include "compiler/gpu/passes/lazy/SumConditions.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::tilegpu {

/// not (sum < c), as a select_lazy asks for it.
struct LazyCondition {
  SumCondition condition;
  llvm::APFloat share;  ///< of c, for each part
};

class CarriedParts {
 public:
  CarriedParts(mlir::scf::ForOp loop, unsigned index, LayoutPool& pool) : loop_(loop), index_(index), pool_(pool) {}

  /// Whether the value can be carried in parts; the rest holds what that takes. Changes nothing.
  bool find();

  /// Of the value and what becomes parts.
  mlir::RankedTensorType sumType() const { return sumType_; }
  mlir::RankedTensorType type() const { return partials_->type(); }
  /// What becomes parts: arguments and results of operations in the loop.
  llvm::ArrayRef<mlir::Value> values() const { return values_.getArrayRef(); }
  bool contains(mlir::Value v) const { return values_.contains(v); }
  /// Arithmetic that computes some of them, with operands that are the same for all parts.
  llvm::ArrayRef<mlir::Operation*> operations() const { return operations_.getArrayRef(); }
  /// The reductions among them, at least one.
  llvm::ArrayRef<tile::ReduceOp> reductions() const { return reductions_.getArrayRef(); }
  /// Constants that become constants of all parts.
  llvm::ArrayRef<mlir::OpOperand*> constants() const { return constants_; }
  llvm::ArrayRef<LazyCondition> conditions() const { return conditions_; }

 private:
  void findCandidates();
  bool collect();
  bool push(mlir::Value v);
  bool source(mlir::OpOperand& operand);
  bool visitDefinition(mlir::Value v);
  bool visitUse(mlir::OpOperand& use);
  bool visitArithmetic(mlir::Operation* op, mlir::OpOperand* use);
  bool visitFactors(mlir::Operation* op);
  bool visitYield(mlir::OpOperand& use);
  bool lazyCondition(mlir::arith::CmpFOp cmp);
  bool isInside(mlir::Operation* op) const;
  bool isNeutral(mlir::Value constant) const;
  bool scalesRightly(mlir::Operation* op) const;
  bool check();
  bool checkConditions();

  mlir::scf::ForOp loop_;
  unsigned index_;
  LayoutPool& pool_;
  mlir::Value arg_;
  mlir::RankedTensorType sumType_;
  std::optional<mlir::OperationName> name_;       ///< of the combination
  llvm::SmallVector<tile::ReduceOp> candidates_;  ///< reductions that may become parts
  llvm::SetVector<mlir::Value> values_;
  llvm::SetVector<mlir::Operation*> operations_;
  llvm::SetVector<tile::ReduceOp> reductions_;
  llvm::SmallVector<mlir::OpOperand*> constants_;
  llvm::SmallVector<LazyCondition> conditions_;
  std::optional<LanePartials> partials_;
};

}  // namespace fattn::tilegpu

#endif
