// SPDX-License-Identifier: Apache-2.0
// Addresses in a buffer of shared memory, register by register.
//
// An element's offset is linear over F2 in its coordinates, so an address is (thread's part ^ register's part): the bits of the register's
// part that no thread's part can reach are added, as an immediate, and for each distinct value of the others there is one xor, which does
// not change in loops:
//
//   %x = xor %thread, 32      %p = getelementptr %shared[%slot * slotBytes][%x]      load [%p + 4096], [%p + 8192], ...
#ifndef FATTN_COMPILER_GPU_LOWER_BUFFERACCESS_H
#define FATTN_COMPILER_GPU_LOWER_BUFFERACCESS_H

#include <map>

#include "compiler/gpu/lower/Lowering.h"
#include "compiler/layout/Shared.h"

namespace fattn::gpu {

class BufferAccess {
 public:
  /// Of `access`, whose element j is element `offsets` + j (none: j) of the tile in the slot. Fails with an error of `op`.
  static mlir::FailureOr<BufferAccess> create(Lowering& to, mlir::Operation* op, mlir::Value buffer, mlir::Value slot,
                                              layout::LinearLayout access, llvm::ArrayRef<int64_t> offsets);

  const layout::LinearLayout& access() const { return access_; }
  /// Bytes from the start of the slot to the element of register r, in lane 0 of warp 0.
  int64_t offset(int64_t r) const { return offsets_[static_cast<size_t>(r)]; }
  /// What all threads' parts are multiples of; a power of two, at most 16.
  int64_t alignment() const;
  mlir::Value pointer(int64_t r);
  /// Whether each lane's part lies so many bytes behind the lane's before.
  bool lanesFollow(int64_t bytes) const;
  /// The pointer in lane 0 of `warp` (i32), where no copies of warps are repeated an odd number of times.
  mlir::Value pointerOfWarp(int64_t r, mlir::Value warp);

 private:
  BufferAccess(Lowering& to, layout::LinearLayout access) : to_(&to), access_(std::move(access)) {}
  mlir::LogicalResult findThreads(mlir::Operation* op, const layout::LinearLayout& places, int64_t elementBytes);

  Lowering* to_;
  layout::LinearLayout access_;
  llvm::SmallVector<int64_t> offsets_;
  llvm::SmallVector<int64_t> laneImages_, warpImages_;
  struct WarpDigit {
    int64_t below, count, bytes;
  };
  llvm::SmallVector<WarpDigit> digits_;  ///< warps that are repeated an odd number of times
  int64_t threadBits_ = 0, start_ = 0, slotBytes_ = 0;
  mlir::Value thread_, base_;
  std::map<int64_t, mlir::Value> pointers_;
};

/// Registers whose elements follow each other in memory from an aligned place on: groups of one size, the largest up to maxBytes.
std::vector<std::vector<int64_t>> bufferVectors(const BufferAccess& access, int64_t elementBytes, int64_t maxBytes = 16);

}  // namespace fattn::gpu

#endif
