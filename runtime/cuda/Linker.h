// SPDX-License-Identifier: Apache-2.0
// PTX text to machine code by the assembler inside the driver.
#ifndef FATTN_RUNTIME_CUDA_LINKER_H
#define FATTN_RUNTIME_CUDA_LINKER_H

#include <string>
#include <string_view>

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/LinkLog.h"

namespace fattn::cuda {

/// Machine code, and what the assembler said about it.
struct Linked {
  std::string cubin;
  double milliseconds = 0;  ///< of the assembler, on the wall
  std::string text;         ///< its log as it is
  LinkLog log;              ///< its log in numbers
};

/// Assembles PTX for the GPU of the calling thread's current context. `entry` names the kernel and `gpu` the GPU in errors. Throws
/// Error{CompileError} with the assembler's log for PTX that is invalid, Error{Unsupported} for PTX that is too new for the driver or
/// for another chip, Error{OutOfMemory}, Error{DeviceError}.
Linked linkPtx(const Driver& driver, std::string_view ptx, std::string_view entry, std::string_view gpu);

/// Whether linking would change what the PTX does: the assembler leaves out `setmaxnreg`, by which warps hand registers to each other, in
/// code that other code may be linked with.
bool mustNotBeLinked(std::string_view ptx);
/// The same as linkPtx(), but for such PTX, which becomes a module at once; there is no machine code to keep then.
Linked loadPtx(const Driver& driver, std::string_view ptx, std::string_view entry, std::string_view gpu, ModuleHandle* module);

/// The CUDA version (as Driver::version() counts) that brought a version of PTX ("8.4"); 0 where this fattn does not know it.
int cudaVersionOfPtx(std::string_view version);

}  // namespace fattn::cuda

#endif
