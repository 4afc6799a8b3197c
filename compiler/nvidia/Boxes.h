// SPDX-License-Identifier: Apache-2.0
// What copies by boxes and stores by boxes have in common: lines of PTX, a branch, and where a window lies in the array of a tensor map.
#ifndef FATTN_COMPILER_NVIDIA_BOXES_H
#define FATTN_COMPILER_NVIDIA_BOXES_H

#include <string>

#include "compiler/gpu/lower/Lowering.h"

namespace fattn::nvidia {

/// Inline PTX with side effects and one result, or none where `type` is null.
mlir::Value assembly(gpu::Lowering& to, mlir::Type type, mlir::ValueRange operands, const std::string& text, llvm::StringRef constraints);

/// Whether warps that only copy execute the operation.
bool isCopiers(mlir::Operation* op);
/// Whether it is the one of them that sends what others have laid into buffers.
bool isSenders(mlir::Operation* op);

/// Waits until the barrier has left the phase of this parity, as long as it takes.
void waitForPhase(gpu::Lowering& to, mlir::Value barrier, mlir::Value parity);

/// Calls `emit` in a branch that is taken where `condition` holds.
void inBranch(gpu::Lowering& to, mlir::Value condition, llvm::function_ref<void()> emit);

/// The same number, of which LLVM does not know that it is: else what follows from it is computed at the kernel's start, or before a loop,
/// and takes registers until it is used. The assembler sees through it.
mlir::Value computedHere(gpu::Lowering& to, mlir::Value number);

/// The tensor map that an operation names by its number.
mlir::DictionaryAttr tensorMapOf(mlir::Operation* op, uint64_t number);

/// The window's place along a dimension as the engine takes it: what lies beyond an i32 lies outside of every array.
mlir::Value coordinate(gpu::Lowering& to, mlir::Value offset);

/// The coordinates beyond the window's own. Along a stride of 0 there is but one place, and the launch's map has another stride.
llvm::SmallVector<mlir::Value> furtherCoordinates(gpu::Lowering& to, mlir::Operation* op, mlir::ValueRange coordinates,
                                                  mlir::DictionaryAttr map);

/// One slot of a buffer that an engine fills or stores by boxes, and its barriers; addresses in shared memory are i32.
class BoxSlot {
 public:
  /// The barriers, and the numbers of a thread's words of parities.
  enum Parities : int { kFull, kEmpty };

  /// `phase`: the number of the phase that the operation waits for; null: the thread keeps its parity.
  static mlir::FailureOr<BoxSlot> create(gpu::Lowering& to, mlir::Operation* op, mlir::Value buffer, mlir::Value slot,
                                         mlir::Value phase = {});

  mlir::Value full() { return address(static_cast<int64_t>(alloc_.getArrives().value_or(*alloc_.getBarriers())), tilegpu::kBarrierBytes); }
  /// Whether another buffer's barriers complete with this one's boxes.
  bool arrivesElsewhere() { return alloc_.getArrives().has_value(); }
  /// Bytes that complete a phase of `full`: of the slot, and of what arrives with it.
  int64_t bytesArriving();
  mlir::Value empty() {
    return address(static_cast<int64_t>(*alloc_.getBarriers()) + tilegpu::kBarrierBytes * type().getSlots(), tilegpu::kBarrierBytes);
  }
  mlir::Value bytes() { return address(static_cast<int64_t>(*alloc_.getOffset()), type().getSlotBytes()); }
  tilegpu::BufferType type() { return alloc_.getResult().getType(); }

  /// The parity of the phase that this thread waits for next on the slot's barrier (0 for the first), which the wait then leaves behind.
  mlir::Value parity(Parities which);
  /// Until the phase that this thread waits for next is over: until the slot is full, or has been handed back. The parity stays.
  void waitUntilFull() { wait(kFull); }
  void waitUntilEmpty() { wait(kEmpty); }
  /// Where `wanted` (i1, null: always) does not hold, nothing was waited for.
  void flip(Parities which, mlir::Value wanted);

 private:
  BoxSlot(gpu::Lowering& to, tilegpu::AllocOp alloc, mlir::Value slot, mlir::Value phase, int role);
  gpu::Lowering::LocalBits bits(Parities which);
  void wait(Parities which);
  /// The address of a text that says which slot, in which phase, was waited for in vain.
  mlir::Value complaint(Parities which, mlir::Value parity, int64_t milliseconds);
  mlir::Value address(int64_t start, int64_t stride);

  gpu::Lowering* to_;
  tilegpu::AllocOp alloc_;
  mlir::Value slot_;
  mlir::Value phase_;  ///< null: a bit of the thread's says its parity
  std::optional<int64_t> number_;
  int role_;  ///< warps that compute, or warps that copy: each keep parities of their own
};

/// One lane of the warp arrives on the barrier, for all that its lanes have done before they met. All lanes come here together: the
/// program's branches are the same for a warp. `elect.sync` takes one instruction; who has lane 0 takes three.
void arriveForWarp(gpu::Lowering& to, mlir::Value barrier);

/// Calls `emit` with the place in shared memory, and the row and column in the array, of each box of the tile in the slot, which lies as
/// layout::swizzled says: blocks of rows, each in columns of the swizzle's width. `first`: the window's place.
void forEachBox(gpu::Lowering& to, mlir::DictionaryAttr map, BoxSlot& slot, llvm::ArrayRef<mlir::Value> first,
                llvm::function_ref<void(mlir::Value bytes, mlir::Value row, mlir::Value column)> emit);

}  // namespace fattn::nvidia

#endif
