// SPDX-License-Identifier: Apache-2.0
// What is known while the code of one kernel is emitted: how far it is, and what the values of the source have become.
// Functions that need all of it take an `Emission& e`; those that need one part take that part.
#ifndef FATTN_COMPILER_CPU_STATE_EMISSION_H
#define FATTN_COMPILER_CPU_STATE_EMISSION_H

#include <map>

#include "compiler/cpu/EmitKernel.h"
#include "compiler/cpu/builder/HostBuilder.h"
#include "compiler/cpu/lanes/LaneAssignment.h"
#include "compiler/cpu/state/Buffers.h"
#include "compiler/cpu/state/Group.h"
#include "compiler/cpu/state/Liveness.h"
#include "compiler/cpu/state/Memo.h"
#include "compiler/cpu/state/OperandForm.h"
#include "compiler/cpu/state/Tiles.h"
#include "mlir/IR/IRMapping.h"

namespace fattn::cpu {

struct Emission {
  Emission(mlir::func::FuncOp source, const HostTarget& host, const mlir::OpBuilder& at, EntryPointers entry);
  Emission(const Emission&) = delete;
  Emission& operator=(const Emission&) = delete;

  /// What a scalar of the source has become; null if it has not been emitted.
  mlir::Value scalar(mlir::Value v) const { return scalars.lookupOrNull(v); }

  // The task.
  mlir::func::FuncOp source;
  EntryPointers entry;
  LaneAssignment lanes;  ///< the dimension of each tile that runs along the vectors

  // Where code goes.
  HostBuilder b;
  Buffers buffers;

  // What values of the source have become.
  mlir::IRMapping scalars;                              ///< scalars and pointers
  llvm::DenseMap<mlir::Value, BlockPtr> blockPtrs;      ///< block pointers
  Tiles tiles;                                          ///< tiles with memory
  std::map<PackedOperand, View> packed;                 ///< operands of dots that were packed before a loop
  llvm::DenseMap<mlir::Value, int64_t> expressionSize;  ///< elementwise values without memory: operations computed for each use

  // How far it is.
  Liveness liveness;
  Group group;                            ///< what waits for its loop nest
  llvm::DenseSet<mlir::Value> computing;  ///< roots of the nest that is being emitted: computed, not read back
  Memo memo;
  int printCount = 0;
};

/// Returns the buffers of the tiles of this block that nobody needs any more.
void releaseDead(Emission& e, mlir::Block& block);

}  // namespace fattn::cpu

#endif
