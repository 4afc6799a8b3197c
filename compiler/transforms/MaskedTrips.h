// SPDX-License-Identifier: Apache-2.0
// Which trips of a loop know its masks: what is needed to spare the other trips' price there.
//
// A mask that bites in few trips is full (all of it is true) in the others. It is a conjunction of signed comparisons whose two sides are
// affine in the induction variable (AffineTiles.h), or the negation of one. The slack of a comparison, right side minus left side, must be
// >= 0 at the least element. It rises or falls linearly with the trips, so that the trips that know a comparison are an interval
// (KnownTrips.h) which begins or ends with the loop's own, and those that know a conjunction are the intersection. docs/language.md has a
// table of the forms.
//
// Integers wrap around, so that a slack says nothing where an operation on the way to it does. Before the loop the scalars are compared
// with magnitudes below which none does; where one is larger, no trip knows its masks. Assumptions: A1 the loop compares signed numbers;
// A2 the mask has more than one element.
#ifndef FATTN_COMPILER_TRANSFORMS_MASKEDTRIPS_H
#define FATTN_COMPILER_TRANSFORMS_MASKEDTRIPS_H

#include <optional>

#include "compiler/transforms/AffineTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::transforms {

/// How a slack changes with the trips.
enum class Slope { Falls, Stays, Rises };

class MaskedTrips {
 public:
  /// A comparison whose elements all are `value` while `known` holds.
  struct Mask {
    mlir::arith::CmpIOp cmp;
    bool value;
    AffineCondition known;
  };
  using Masks = llvm::SmallVector<Mask, 0>;
  /// A dimension of a load or store that the loop walks along; its window lies inside of the array where all of `inside` hold.
  struct Check {
    mlir::Operation* access;
    int64_t dim;
    llvm::SmallVector<AffineCondition, 0> inside;
  };

  explicit MaskedTrips(mlir::scf::ForOp loop) : loop_(loop) {}

  /// What makes a condition choose the usual side of a select for all elements, and that side; nullopt where that takes more than masks
  /// that fit the assumptions. A constant is less usual than what is defined before the loop, and that less than what the loop computes.
  /// Where both sides are alike, it is the one where the condition holds, and no slack may rise.
  struct Usual {
    bool side;
    Masks masks;
  };
  std::optional<Usual> usual(mlir::arith::SelectOp select) const;
  /// The masks that fit the assumptions, of all selects and masked accesses; each comparison once.
  Masks masks() const;
  /// The boundary checks that do.
  llvm::SmallVector<Check, 0> checks() const;

  Slope slopeOf(const AffineCondition& condition) const;

 private:
  /// Appends the masks that help to make all elements of a condition `value`. False where more is needed than they.
  bool collect(mlir::Value condition, bool value, llvm::SmallVectorImpl<Mask>& out) const;
  bool add(mlir::arith::CmpIOp cmp, bool value, llvm::SmallVectorImpl<Mask>& out) const;
  /// The same for a select's condition; `complete` says whether that is all it takes.
  Usual collect(mlir::arith::SelectOp select, bool& complete) const;
  int usualness(mlir::Value value) const;
  void collectChecks(mlir::Operation* access, mlir::Value ptr, llvm::ArrayRef<int64_t> dims, llvm::SmallVectorImpl<Check>& out) const;
  /// Whether the slack and what it is computed from depend on nothing that the loop computes, and 64-bit integers hold them.
  bool isKnownBefore(const AffineCondition& condition) const;
  bool isOutside(const AffineBounds& slack) const;
  bool neverNegative(const AffineBounds& offset) const;

  mutable mlir::scf::ForOp loop_;
};

}  // namespace fattn::transforms

#endif
