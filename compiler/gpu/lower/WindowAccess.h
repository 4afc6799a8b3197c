// SPDX-License-Identifier: Apache-2.0
// Addresses and bounds of a window into global memory, register by register.
//
// What does not depend on the register is computed once: the thread's place in the window (invariant in loops that only advance it), the
// window's place in the array, and the part of the window that lies inside the array, as 32-bit numbers.
#ifndef FATTN_COMPILER_GPU_LOWER_WINDOWACCESS_H
#define FATTN_COMPILER_GPU_LOWER_WINDOWACCESS_H

#include <map>

#include "compiler/gpu/lower/Lowering.h"
#include "compiler/layout/Queries.h"

namespace fattn::gpu {

class WindowAccess {
 public:
  /// `checked` are the dimensions whose bounds count; `extents`, where there are any, the part of the window that exists (extentsOf).
  /// `lanesLast`: what lanes differ in is added last, where that can be, so that addressOrZeros() can be.
  WindowAccess(Lowering& to, tile::BlockPtrType type, const Window& window, llvm::ArrayRef<int64_t> checked,
               llvm::ArrayRef<int64_t> extents, const layout::LinearLayout& layout, bool lanesLast = false);

  /// Of the element in register r.
  mlir::Value address(int64_t r);
  /// The same where the predicate holds, else of zeros; null where the machine has none for this, or lanes may differ in more than an
  /// offset of 32 bits, or in the predicate of inside(r).
  mlir::Value addressOrZeros(int64_t r, mlir::Value predicate, int64_t width);
  /// Whether that element lies inside the array and the extents (i1); null where no dimension is checked. What all elements share is
  /// computed where this is called first, and has to dominate the other calls.
  mlir::Value inside(int64_t r);
  /// Whether the whole window does (i1, the same in all threads of a block); null where no dimension is checked. Not for windows with a
  /// part outside of the extents.
  mlir::Value insideWhole();
  /// How many of the `width` elements from register r on, which follow each other along dimension d, lie inside (i32). The first does if
  /// any does.
  mlir::Value countInside(int64_t r, int d, int64_t width);
  /// Whether each vector of `width` elements along dimension d lies wholly inside of the array's extent there or wholly outside (i1, the
  /// same in all threads of a block), for windows that begin at a multiple of `width`.
  mlir::Value endsBetween(int d, int64_t width);
  /// Whether some of the window lies outside of the extents wherever it is.
  bool isPadded() const { return isPadded_; }

 private:
  struct Bounds {
    int dim;
    mlir::Value first, last;  ///< the window's elements first <= i < last lie inside; i32
    mlir::Value low, high;    ///< the same for what is added to the thread's place
  };
  struct Checked {
    int dim;
    int64_t size;  ///< of the window, or its extent
    bool inArray;  ///< whether the array's bounds count, too
  };
  Bounds boundsOf(const Checked& checked);
  mlir::Value insideOf(const Bounds& bounds, int64_t coordinate);
  void computeBounds();
  void splitOffLanes();
  /// The address of register r without what is the same for all registers and constant.
  std::pair<mlir::Value, int64_t> rowOf(int64_t r);
  mlir::Value atLane(mlir::Value row, int64_t constant);
  mlir::Value product(int d, int64_t coordinate);
  mlir::Value rowAddress(const layout::Coords& row);
  bool overlaps(int d, int64_t constant) const { return (threadBits_[d] & constant) != 0; }

  Lowering& to_;
  const Window& window_;
  const layout::LinearLayout& layout_;
  mlir::Type unit_;  ///< what addresses count
  llvm::SmallVector<mlir::Value, 3> thread_;
  llvm::SmallVector<int64_t, 3> threadBits_;  ///< of a coordinate, that lane or warp can set
  llvm::SmallVector<int64_t, 3> laneBits_;    ///< that lane can set
  mlir::Value origin_;                        ///< the address of register 0 where its coordinates are 0; without `lanes_`
  mlir::Value lanes_;                         ///< bytes (i32) that lanes are apart, where all other offsets are a warp's; else null
  int64_t mostLanes_ = 0;                     ///< the most of these
  llvm::SmallVector<Checked, 3> checked_;
  llvm::SmallVector<Bounds, 3> bounds_;  ///< of these
  bool isPadded_ = false;
  std::map<std::pair<int, int64_t>, mlir::Value> products_, inside_;
  std::map<layout::Coords, mlir::Value> rows_;  ///< addresses by the coordinates along dimensions of unknown stride, others 0
};

/// How many elements one access through this block pointer moves, along which dimension, and the registers of each.
struct WindowVectors {
  int width = 1, dim = 0;
  bool mayBeCut = false;  ///< the array may end within one
  std::vector<std::vector<int64_t>> groups;
};
WindowVectors windowVectors(mlir::Value blockPtr, llvm::ArrayRef<int64_t> checked, llvm::ArrayRef<int64_t> extents,
                            const layout::LinearLayout& layout, int elementBits);

/// The type of `count` elements that are accessed at once: a number of less than 32 bits, or one or more of 32 or 64.
mlir::Type memoryType(Lowering& to, mlir::Type element, int count);
/// Registers as a value of that type, and back.
mlir::Value toMemory(Lowering& to, mlir::ValueRange registers, mlir::Type element);
Registers fromMemory(Lowering& to, mlir::Value value, mlir::Type element, int count);

/// Whether the executing thread is one of those that write, or add, what several hold (i1); null where all are.
mlir::Value isHolder(Lowering& to, const layout::Holders& holders);

/// a and b; either may be null, which stands for true.
mlir::Value both(mlir::ImplicitLocOpBuilder& b, mlir::Value left, mlir::Value right);

}  // namespace fattn::gpu

#endif
