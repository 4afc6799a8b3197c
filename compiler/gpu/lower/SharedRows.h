// SPDX-License-Identifier: Apache-2.0
// Tiles between registers and buffers of one dimension that hold them row by row (load_buffer and store_buffer with extents).
#ifndef FATTN_COMPILER_GPU_LOWER_SHAREDROWS_H
#define FATTN_COMPILER_GPU_LOWER_SHAREDROWS_H

#include "compiler/gpu/lower/Lowering.h"

namespace fattn::gpu {

mlir::LogicalResult loadRows(Lowering& to, tilegpu::LoadBufferOp op);
mlir::LogicalResult storeRows(Lowering& to, tilegpu::StoreBufferOp op);

}  // namespace fattn::gpu

#endif
