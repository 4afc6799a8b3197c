// SPDX-License-Identifier: Apache-2.0
// What a compilation yields: bytes for one target and what a runtime must know to run them. Names no MLIR or LLVM type.
#ifndef FATTN_COMPILER_EMIT_BINARY_H
#define FATTN_COMPILER_EMIT_BINARY_H

#include <cstdint>
#include <string>
#include <vector>

#include "fattn/DType.h"

namespace fattn::compiler {

/// One argument of a kernel. Every argument takes one slot of 8 bytes, in order, its value at the slot's start.
struct ArgInfo {
  std::string name;
  bool isPointer = false;
  DType type = DType::F32;
};

/// A compiled kernel. On the host `bytes` is a relocatable ELF object that exports
/// `extern "C" void <entry>(const void* args, const int32_t* grid, void* scratch)`: one call runs one program;
/// args = the packed slots; grid = {id_x, id_y, id_z, num_x, num_y, num_z}; scratch = scratchBytes bytes, 64-byte aligned,
/// private to the calling thread, contents undefined. It refers to libc/libm functions and fattn_device_print only.
struct Binary {
  std::string target, entry;
  std::string bytes;
  std::vector<ArgInfo> args;
  std::int64_t scratchBytes = 0, sharedBytes = 0;
  int threads = 0, registers = 0, spillBytes = 0;
};

}  // namespace fattn::compiler

#endif
