// SPDX-License-Identifier: Apache-2.0
// Walking over the elements of a tile in row-major order.
#ifndef FATTN_COMPILER_INTERPRETER_INDEX_H
#define FATTN_COMPILER_INTERPRETER_INDEX_H

#include <numeric>

#include "mlir/Support/LLVM.h"

namespace fattn::interpreter {

/// Calls visit(index) for every index of the shape, the last dimension fastest; once for a shape of rank 0.
template <typename Visit>
void forEachIndex(mlir::ArrayRef<int64_t> shape, Visit visit) {
  mlir::SmallVector<int64_t> index(shape.size(), 0);
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  for (int64_t n = 0; n < count; ++n) {
    visit(mlir::ArrayRef<int64_t>(index));
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0 && ++index[dim] == shape[dim]; --dim) index[dim] = 0;
  }
}

/// Position of an index in row-major order.
inline int64_t flatten(mlir::ArrayRef<int64_t> index, mlir::ArrayRef<int64_t> shape) {
  int64_t position = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim) position = position * shape[dim] + index[dim];
  return position;
}

}  // namespace fattn::interpreter

#endif
