// SPDX-License-Identifier: Apache-2.0
// What each thread has of a reduction: the part that its own registers hold, before anything is exchanged.
#ifndef FATTN_COMPILER_GPU_PASSES_LAYOUTS_LANEPARTIALS_H
#define FATTN_COMPILER_GPU_PASSES_LAYOUTS_LANEPARTIALS_H

#include "compiler/gpu/passes/layouts/AssignLayouts.h"

namespace fattn::tilegpu {

/// A reduced dimension of C elements as P parts, one for each thread that holds some of a line, of Q elements that this thread holds.
class LanePartials {
 public:
  /// Nothing where threads hold no parts of lines, or registers and threads together choose an element.
  static std::optional<LanePartials> of(tile::ReduceOp reduce, LayoutPool& pool);

  /// [.., P]: the result's dimensions, then the parts; as many registers as lines.
  mlir::RankedTensorType type() const { return type_; }
  /// The layout of a tile of the result's shape in which every thread has the lines of its parts.
  LayoutId lines() const { return lines_; }
  int64_t parts() const { return type_.getShape().back(); }
  /// Whether a line's parts are all in one warp.
  bool inOneWarp() const;

  /// The reduction of each thread's own elements.
  mlir::Value emit(mlir::OpBuilder& b, tile::ReduceOp reduce) const;

 private:
  LanePartials() = default;
  bool split(const layout::LinearLayout& layout, int axis);

  llvm::SmallVector<int64_t> split_, order_, joined_;  ///< shapes on the way, and the order of the dimensions
  LayoutId splitLayout_ = kNoLayout, orderedLayout_ = kNoLayout, joinedLayout_ = kNoLayout;  ///< of the tiles on the way
  LayoutPool* pool_ = nullptr;
  mlir::RankedTensorType type_;
  LayoutId lines_ = kNoLayout;
};

/// The tile of this type whose elements are those of `value`, which has all dimensions but the last.
mlir::Value repeatForParts(mlir::OpBuilder& b, mlir::Value value, mlir::RankedTensorType type, LayoutPool& pool);

/// Combines the parts as `like` does.
mlir::Value combineParts(mlir::OpBuilder& b, mlir::Value parts, tile::ReduceOp like, mlir::RankedTensorType result);

}  // namespace fattn::tilegpu

#endif
