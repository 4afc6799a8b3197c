// SPDX-License-Identifier: Apache-2.0
// What each operation of the source becomes: one function each, called in program order.
#ifndef FATTN_COMPILER_CPU_OPERATIONS_OPERATIONS_H
#define FATTN_COMPILER_CPU_OPERATIONS_OPERATIONS_H

#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::cpu {

struct Emission;

// EmitBlock.cpp: the walk over a block, which also emits scalars and pointers. Everything that stands in the block is emitted afterwards.
mlir::LogicalResult emitBlock(Emission& e, mlir::Block& block);
// One that makes scalars or pointers of others, as they are mapped now. False: it is none of them.
bool emitScalar(Emission& e, mlir::Operation* op);

// EmitLoad.cpp, EmitStore.cpp: through block pointers.
void emitLoad(Emission& e, tile::LoadOp op);
void emitWrite(Emission& e, tile::StoreOp op);
void emitWrite(Emission& e, tile::AccumulateOp op);

// EmitPointers.cpp: through tiles of pointers.
void emitGather(Emission& e, tile::GatherOp op);
void emitScatter(Emission& e, tile::ScatterOp op);
void emitAtomicAdd(Emission& e, tile::AtomicAddOp op);

// EmitDot.cpp, EmitCumsum.cpp, EmitPrint.cpp.
void emitDot(Emission& e, tile::DotOp op);
void emitCumsum(Emission& e, tile::CumsumOp op);
void emitPrint(Emission& e, tile::DevicePrintOp op);

// EmitControl.cpp, EmitSelectLazy.cpp: loops and branches.
mlir::LogicalResult emitFor(Emission& e, mlir::scf::ForOp op);
mlir::LogicalResult emitIf(Emission& e, mlir::scf::IfOp op);
mlir::LogicalResult emitWhile(Emission& e, mlir::scf::WhileOp op);
mlir::LogicalResult emitSelectLazy(Emission& e, tile::SelectLazyOp op);

}  // namespace fattn::cpu

#endif
