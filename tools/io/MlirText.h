// SPDX-License-Identifier: Apache-2.0
// Reading the text of MLIR modules within the limits of compiler/text/TextLimits.h, on a stack that is large enough for what keeps them.
#ifndef FATTN_TOOLS_IO_MLIRTEXT_H
#define FATTN_TOOLS_IO_MLIRTEXT_H

#include <functional>
#include <string>

namespace fattn::io {

/// Reads a file of MLIR text for a tool. Throws Error{IoError} where it cannot be read or is no regular file, Error{CompileError} where it
/// breaks a limit.
std::string readMlir(const std::string& path);

/// Runs `body` on a thread with 512 MiB of stack, enough for what keeps the limits whatever the caller's stack is, and waits for it.
/// Rethrows what it throws; throws Error{OutOfMemory} where there is no such stack.
void onLargeStack(const std::function<void()>& body);

}  // namespace fattn::io

#endif
