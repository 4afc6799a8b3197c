// SPDX-License-Identifier: Apache-2.0
// The order of a thread's arithmetic; see OrderRegisters.cpp.
#ifndef FATTN_COMPILER_GPU_LOWER_ORDERREGISTERS_H
#define FATTN_COMPILER_GPU_LOWER_ORDERREGISTERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::gpu {

/// What a vendor's instructions are, where MLIR cannot know it.
class RegisterFacts {
 public:
  virtual ~RegisterFacts() = default;
  /// Whether an intrinsic is a function of numbers; for the others MLIR has to assume side effects.
  virtual bool isPure(mlir::Operation* intrinsic) const = 0;
  /// An instruction that converts and packs numbers, and only pretends to have side effects, so that LLVM leaves it where it is.
  virtual bool isConversion(mlir::Operation* op) const = 0;
  /// Whether matrix instructions may still write the registers of what follows until here.
  virtual bool isMatrixWait(mlir::Operation* op) const = 0;
  /// How many of a thread's registers the matrix instructions read that this one waits for.
  virtual int64_t readInFlight(mlir::Operation* matrixWait) const = 0;
  /// How many registers a thread has there.
  virtual int64_t registersOfThread(mlir::Operation* at) const = 0;
  /// Whether other warps take part in it, so that no branch of a single warp may hold it.
  virtual bool needsOtherWarps(mlir::Operation* op) const = 0;
  /// Whether it asks all lanes of a warp for a truth value.
  virtual bool isVote(mlir::Operation* op) const = 0;
};

void orderRegisters(mlir::func::FuncOp function, const RegisterFacts& facts);

}  // namespace fattn::gpu

#endif
