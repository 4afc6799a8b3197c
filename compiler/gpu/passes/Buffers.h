// SPDX-License-Identifier: Apache-2.0
// What passes ask about shared memory: which buffer an operation touches and how, and whose copy a token stands for.
#ifndef FATTN_COMPILER_GPU_PASSES_BUFFERS_H
#define FATTN_COMPILER_GPU_PASSES_BUFFERS_H

#include "compiler/dialect/Tile.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::tilegpu {

using CopySet = llvm::SmallSetVector<CopyAsyncOp, 4>;

/// The copies that a token may stand for: through loops' carried values and the results of control flow.
CopySet copiesOf(mlir::Value token);

/// One operation's access to a buffer in shared memory.
struct BufferAccess {
  mlir::Value buffer;
  bool write = false;
  bool copy = false;      ///< by an asynchronous copy: at its issue and at its wait
  bool dot = false;       ///< by a dot in flight: at its issue and at its wait
  bool released = false;  ///< by a copy that waits until all warps have released the slot
  bool byWarp = false;    ///< each byte by the same warp every time, which sees to the order itself
  bool bySlot = false;    ///< of a buffer whose slots warps hand over (tilegpu.slot_commit): they see to the order in it
};

/// What this operation itself reads and writes, not what lies in its regions. A copy_async writes when it is issued, and copy_wait
/// makes its copies' writes seen; a dot_async reads from its issue to its dot_wait. A store_boxes writes its buffer; that an engine then
/// reads it is no access of threads.
llvm::SmallVector<BufferAccess, 2> accessesOf(mlir::Operation* op);

/// The buffers that the operation itself names with a slot, and the operands that say which.
void forEachSlot(mlir::Operation* op, llvm::function_ref<void(mlir::Value buffer, mlir::OpOperand& slot)> visit);

/// Whether `op` or anything in its regions touches one of these buffers.
bool touches(mlir::Operation* op, const llvm::SmallSetVector<mlir::Value, 4>& buffers);

/// Whether warps say when they have read the buffer's slots (tilegpu.release).
bool isReleased(mlir::Value buffer);

/// Whether warps fill the buffer's slots for one that owns what they hold (tilegpu.slot_commit).
bool isCommitted(mlir::Value buffer);

/// Whether warp groups that compute different products exchange tiles in it, and hand its slots over (-tilegpu-assign-pairs).
bool isOfPair(mlir::Value buffer);

/// The name of the kernel's argument that a pointer comes from; empty where that is not seen.
llvm::StringRef argumentOf(mlir::Value pointer);

/// Whether an engine stores from the buffer (tilegpu.store_boxes).
bool isStored(mlir::Value buffer);

/// Additions to global memory that have no order among themselves.
bool isUnorderedAdd(mlir::Operation* op);

/// Whether two buffers are one, or have bytes in common (-tilegpu-allocate-shared; without offsets all are distinct).
bool overlap(mlir::Value a, mlir::Value b);

/// Whether something between `from` and `to`, in one block, writes the buffer, or lets copies write it (tilegpu.release).
bool isWrittenBetween(mlir::Operation* from, mlir::Operation* to, mlir::Value buffer);

/// 32-bit registers a thread needs for a tile; 0 for anything else.
int64_t registersOf(mlir::Type type);

/// Whether several warps make a conversion together, through shared memory (null: no).
bool crossesWarps(ConvertLayoutOp conversion);
/// The same of a reduction.
bool crossesWarps(tile::ReduceOp reduce);

/// Those that a loop's body needs at least: what it carries, and the largest result of a dot that starts from a constant.
int64_t registersIn(mlir::Operation* loop);

/// Whether a dot's operands become two numbers an element, the second what the first one's precision leaves (3xTF32): f32 of precision
/// ieee.
bool splitsOperands(tile::DotOp dot);

}  // namespace fattn::tilegpu

#endif
