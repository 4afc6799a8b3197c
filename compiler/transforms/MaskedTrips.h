// SPDX-License-Identifier: Apache-2.0
// Which trips of a loop know its masks to be true: what is needed to spare the other trips' price there.
//
// A mask is a conjunction of signed comparisons whose two sides are affine in the induction variable (AffineTiles.h). The slack of a
// comparison, right side minus left side, falls linearly with the trips; it must be >= 0 at the least element.
// Integers wrap around, so that a slack says nothing where an operation on the way to it does. Before the loop the scalars are compared
// with magnitudes below which none does; where one is larger, no trip knows its masks. Assumptions: A1 step is a positive constant; A2 the
// slack falls with the induction variable (then the known trips come first) or does not depend on it; A3 the mask has more than one
// element.
#ifndef FATTN_COMPILER_TRANSFORMS_MASKEDTRIPS_H
#define FATTN_COMPILER_TRANSFORMS_MASKEDTRIPS_H

#include <optional>

#include "compiler/transforms/AffineTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::transforms {

class MaskedTrips {
 public:
  /// A comparison that is true for all elements while `slack` >= 0.
  struct Mask {
    mlir::arith::CmpIOp cmp;
    AffineBounds slack;
    llvm::SmallVector<IntegerResult, 0> computed;  ///< on the way to the slack
  };
  /// A dimension of a load or store that the loop walks along; its window lies inside of the array where `slack` >= 0, as it never begins
  /// before it.
  struct Check {
    mlir::Operation* access;
    int64_t dim;
    AffineBounds slack;
    llvm::SmallVector<IntegerResult, 0> computed;  ///< on the way to the slack
  };

  explicit MaskedTrips(mlir::scf::ForOp loop);

  /// The masks that fit the assumptions, in the loop's own block; empty where A1 does not hold.
  llvm::ArrayRef<Mask> masks() const { return masks_; }
  /// The boundary checks that do.
  llvm::SmallVector<Check> checks() const;

  /// Where a trip first needs one of these, of the type of the bounds: at least the lower bound and at most the upper one. Computed before
  /// the loop.
  mlir::Value begin(mlir::OpBuilder& b, llvm::ArrayRef<Mask> masks, llvm::ArrayRef<Check> checks) const;

 private:
  using Limits = llvm::MapVector<mlir::Value, int64_t>;

  void collectMasks();
  void collectChecks(mlir::Operation* access, mlir::Value ptr, llvm::ArrayRef<int64_t> dims, llvm::SmallVectorImpl<Check>& out) const;
  /// Whether the slack and what it is computed from depend on nothing that the loop computes, and 64-bit integers hold them.
  bool isKnownBefore(const AffineBounds& slack, llvm::ArrayRef<IntegerResult> computed) const;
  bool isOutside(const AffineBounds& slack) const;
  bool neverNegative(const AffineBounds& offset) const;
  mlir::Value constant(mlir::OpBuilder& b, int64_t v) const;
  mlir::Value widen(mlir::OpBuilder& b, mlir::Value v) const;
  /// Notes how large scalars may be for the slack to fit into 64 bits and for no operation of `computed` to wrap around.
  void limitScalars(const AffineBounds& slack, llvm::ArrayRef<IntegerResult> computed, Limits& limits) const;
  /// Whether all scalars keep their limits; null where every value does.
  mlir::Value keeps(mlir::OpBuilder& b, const Limits& limits) const;
  mlir::Value limitOf(mlir::OpBuilder& b, const AffineBounds& slack, mlir::Value lo, mlir::Value hi) const;

  mutable mlir::scf::ForOp loop_;
  int64_t step_ = 0;
  llvm::SmallVector<Mask> masks_;
};

}  // namespace fattn::transforms

#endif
