// SPDX-License-Identifier: Apache-2.0
// Which rows of its tiles a program stores.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_STOREDROWS_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_STOREDROWS_H

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// Row i of a tile (i of dimension 0) is stored only where first + i < end (both i64), and nothing else that a warp group computes reaches
/// memory or another group. So a group whose rows lie beyond may compute anything.
struct StoredRows {
  mlir::Value first, end;
  RegsAttr layout;        ///< of the rows, the first dimension
  std::int64_t rows = 0;  ///< that a group holds, the last one's number less the first one's
};

/// Those of the program in this block, which a group executes. Nothing where a store says of no row that it is outside, where stores
/// differ, or where warps bring data to shared memory.
std::optional<StoredRows> storedRowsOf(mlir::Block& program);

}  // namespace fattn::tilegpu

#endif
