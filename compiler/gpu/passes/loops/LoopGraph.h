// SPDX-License-Identifier: Apache-2.0
// A loop's body as the schedule search sees it, and a schedule as the order of the body's operations.
#ifndef FATTN_COMPILER_GPU_PASSES_LOOPS_LOOPGRAPH_H
#define FATTN_COMPILER_GPU_PASSES_LOOPS_LOOPGRAPH_H

#include "compiler/gpu/passes/loops/PipelineLoop.h"
#include "compiler/gpu/schedule/ScheduledLoop.h"

namespace fattn::tilegpu {

/// The nodes of a loop. Dots are called A, B, ..., groups of arithmetic a, b, ..., each in the order of the text; copies z, y, ...
struct LoopGraph {
  gpu::LoopModel model;
  std::vector<llvm::SmallVector<mlir::Operation*>> operations;  ///< of each node, in the order of the text
  llvm::SmallVector<mlir::Operation*> copies;                   ///< of each copy of the model
  llvm::SmallVector<mlir::Operation*> free;                     ///< computed from scalars alone: they go with whoever needs them
  bool queued = false;                                          ///< a matrix unit does some of the dots by itself
  std::string unfit;                                            ///< why the loop has no model, in words; empty where it has one

  /// What each node stands for.
  std::vector<gpu::NodeOrigin> origins() const;
  /// What each copy stands for.
  std::vector<gpu::NodeOrigin> copied() const;
  /// "A = dot 128 x 64 x 128 (64 registers), a = 12 operations from math.exp2 (32 registers); 150 more registers".
  std::string legend() const;
};

/// Nodes, costs and edges of a loop's body without its fetches, and how far copies may run ahead: `ahead` trips.
LoopGraph graphOf(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation*> fetches, int64_t ahead);

/// Whether the schedule is the order of the text. Where dots run beside other work, the text has to do one node after the other; elsewhere
/// the parts of nodes may alternate as the text has them, which keeps fewer registers.
bool keepsText(const LoopGraph& graph, const gpu::Schedule& schedule);

/// The operations in the order and the stages of the schedule. What follows from scalars is repeated in each stage that needs it.
StagedOps stagedOps(const LoopGraph& graph, const gpu::Schedule& schedule);

/// Prices one operation for all threads of a block; regions that run rarely (exact sides) cost their test only.
gpu::ArithmeticWork workOf(mlir::Operation* op);
gpu::DotWork workOf(tile::DotOp dot);

}  // namespace fattn::tilegpu

#endif
