// SPDX-License-Identifier: Apache-2.0
// Buffers for tiles in the thread's scratch memory.
#ifndef FATTN_COMPILER_CPU_STATE_BUFFERS_H
#define FATTN_COMPILER_CPU_STATE_BUFFERS_H

#include "compiler/cpu/builder/HostBuilder.h"
#include "compiler/cpu/builder/View.h"
#include "compiler/cpu/state/Scratch.h"
#include "mlir/IR/BuiltinTypes.h"

namespace fattn::cpu {

/// Dense, or with rows at distances that do not bring many of them into one set of the cache.
enum class Rows { Dense, Spread };

class Buffers {
 public:
  Buffers(HostBuilder& b, mlir::Value base) : b(b), base(base) {}

  /// A padded buffer in a slot of its own; the lanes run along the last dimension where `lane` names none.
  View allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element, int lane, Rows rows = Rows::Dense);
  View allocate(mlir::RankedTensorType type, int lane) { return allocate(type.getShape(), type.getElementType(), lane); }
  /// Returns the view's slot, if it owns one that is not pinned.
  void release(View& view);
  /// Slots that live as long as a loop. Gives those that were not pinned before.
  llvm::SmallVector<int> pin(llvm::ArrayRef<View> carried);
  void unpin(llvm::ArrayRef<int> slots);
  int64_t bytes() const { return scratch.bytes(); }

 private:
  HostBuilder& b;
  mlir::Value base;
  Scratch scratch;
  llvm::DenseSet<int> pinned;
};

}  // namespace fattn::cpu

#endif
