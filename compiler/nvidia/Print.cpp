// SPDX-License-Identifier: Apache-2.0
// tile.device_print.
#include "compiler/nvidia/Machine.h"

using namespace mlir;

namespace fattn::nvidia {

LogicalResult Machine::devicePrint(gpu::Lowering&, tile::DevicePrintOp op) {
  return op.emitOpError() << "is not supported on NVIDIA GPUs; run the kernel on the host to print";
}

}  // namespace fattn::nvidia
