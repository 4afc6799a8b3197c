// SPDX-License-Identifier: Apache-2.0
// The trips of a loop in which affine conditions hold: an interval, computed before the loop.
#ifndef FATTN_COMPILER_TRANSFORMS_KNOWNTRIPS_H
#define FATTN_COMPILER_TRANSFORMS_KNOWNTRIPS_H

#include "compiler/transforms/AffineTiles.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::transforms {

class KnownTrips {
 public:
  /// `whole`: the ends of the interval are numbers of whole steps behind the loop's lower bound, or its upper bound, so that loops may
  /// begin there; otherwise they only lie between the same trips.
  KnownTrips(mlir::scf::ForOp loop, bool whole) : loop_(loop), whole_(whole) {}

  /// The interval keeps only trips in which this holds, which is known before the loop.
  void require(const AffineCondition& condition);

  /// The trips first <= i < last, of the type of the loop's bounds and between these, with first <= last if they are whole; null where the
  /// interval begins or ends with the loop. Values that lie beyond what the conditions allow for give no trips.
  struct Interval {
    mlir::Value first, last;
  };
  /// Emits the computation in front of the loop.
  Interval emit(mlir::OpBuilder& b);

 private:
  using Limits = llvm::MapVector<mlir::Value, int64_t>;

  mlir::Value constant(mlir::OpBuilder& b, int64_t v) const;
  mlir::Value widen(mlir::OpBuilder& b, mlir::Value v) const;
  mlir::Value narrow(mlir::OpBuilder& b, mlir::Value v) const;
  void limit(mlir::Value v, int64_t most);
  void limitAll(const AffineBounds& bounds, int64_t most);
  /// Whether all scalars keep their limits; null where every value does.
  mlir::Value keepsLimits(mlir::OpBuilder& b) const;
  /// The slack without the part that the induction variable has in it.
  mlir::Value restOf(mlir::OpBuilder& b, const AffineBounds& slack) const;
  mlir::Value always(mlir::OpBuilder& b, const AffineBounds& slack) const;
  mlir::Value beginOf(mlir::OpBuilder& b, const AffineBounds& slack) const;
  mlir::Value endOf(mlir::OpBuilder& b, const AffineBounds& slack) const;
  mlir::Value wholeSteps(mlir::OpBuilder& b, mlir::Value distance) const;

  mutable mlir::scf::ForOp loop_;
  bool whole_;
  llvm::SmallVector<AffineBounds> rising_, falling_, fixed_;
  Limits limits_;  ///< how large scalars may be for the slacks to fit into 64 bits and for nothing on the way to them to wrap around
  mlir::Value lo_, hi_, step_;  ///< of the loop, 64 bits wide
};

}  // namespace fattn::transforms

#endif
