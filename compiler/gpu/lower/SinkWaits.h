// SPDX-License-Identifier: Apache-2.0
// Waits for matrix instructions behind branches; see SinkWaits.cpp.
#ifndef FATTN_COMPILER_GPU_LOWER_SINKWAITS_H
#define FATTN_COMPILER_GPU_LOWER_SINKWAITS_H

#include "compiler/gpu/lower/OrderRegisters.h"

namespace fattn::gpu {

void sinkWaits(mlir::func::FuncOp function, const RegisterFacts& facts);

}  // namespace fattn::gpu

#endif
