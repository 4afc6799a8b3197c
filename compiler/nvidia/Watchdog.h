// SPDX-License-Identifier: Apache-2.0
// Waits on barrier objects that do not last for ever, for debugging.
#ifndef FATTN_COMPILER_NVIDIA_WATCHDOG_H
#define FATTN_COMPILER_NVIDIA_WATCHDOG_H

#include "compiler/gpu/lower/Lowering.h"

namespace fattn::nvidia {

/// The address of a string of characters that the module of the kernel holds.
mlir::Value addressOfText(gpu::Lowering& to, llvm::StringRef characters);

/// Milliseconds that a wait of the function may last (tilegpu.watchdog); 0: for ever.
int64_t watchdogOf(mlir::Operation* op);

/// Waits until the barrier has left the phase of this parity, but at most so many milliseconds. Then the kernel ends with an error of the
/// driver's, and the driver prints the text at the address that `message` returns, with kernel, role of the warp, block and thread.
void waitOrFail(gpu::Lowering& to, mlir::Value barrier, mlir::Value parity, int64_t milliseconds, llvm::StringRef role,
                llvm::function_ref<mlir::Value()> message);

}  // namespace fattn::nvidia

#endif
