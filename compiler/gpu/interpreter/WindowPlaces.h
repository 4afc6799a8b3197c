// SPDX-License-Identifier: Apache-2.0
// Where the elements of a window lie in global memory.
#ifndef FATTN_COMPILER_GPU_INTERPRETER_WINDOWPLACES_H
#define FATTN_COMPILER_GPU_INTERPRETER_WINDOWPLACES_H

#include "compiler/gpu/interpreter/Block.h"

namespace fattn::adversary {

class WindowPlaces {
 public:
  /// Of tiles of this shape; dimensions that are not `checked` must lie inside of the array, up to the `extents` where there are any.
  WindowPlaces(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> checked, llvm::ArrayRef<int64_t> extents, mlir::Type element);

  /// Nothing where the element is outside of the extents, or of the array; a fault where no check allows that.
  std::optional<Element> locate(Block& block, mlir::Operation* op, const Window& window, int32_t element) const;

 private:
  std::size_t rank_;
  int64_t bytes_;
  std::vector<bool> checked_;
  std::vector<int64_t> extents_;
  std::vector<int64_t> coordinates_;  ///< rank numbers for each element
};

}  // namespace fattn::adversary

#endif
