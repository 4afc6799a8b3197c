// SPDX-License-Identifier: Apache-2.0
// Where the elements of a buffer's slots lie in shared memory.
#ifndef FATTN_COMPILER_GPU_INTERPRETER_BUFFERPLACES_H
#define FATTN_COMPILER_GPU_INTERPRETER_BUFFERPLACES_H

#include "compiler/gpu/interpreter/Code.h"

namespace fattn::adversary {

class BufferPlaces {
 public:
  /// Of a buffer that `op` accesses. Throws fattn::Error where it has no place.
  BufferPlaces(mlir::Operation* op, mlir::Value buffer);

  /// Where the slot begins; nothing, and a fault, where there is no such slot.
  std::optional<int64_t> slotStart(Block& block, int64_t slot) const;
  /// Reports a read of bytes that nobody has written for this buffer.
  void checkWritten(Block& block, const Access& access, int64_t at) const;
  int64_t offset(int64_t element) const { return offsets_[static_cast<std::size_t>(element)]; }
  int64_t elementCount() const { return static_cast<int64_t>(offsets_.size()); }
  int64_t elementBytes() const { return elementBytes_; }

 private:
  mlir::Operation* op_;
  tilegpu::AllocOp alloc_;
  int64_t start_ = 0, slots_ = 0, slotBytes_ = 0, elementBytes_ = 0;
  std::vector<int64_t> offsets_;
};

}  // namespace fattn::adversary

#endif
