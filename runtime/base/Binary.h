// SPDX-License-Identifier: Apache-2.0
// What a compilation yields and a runtime loads: bytes for one target and what one must know to run them. Names no MLIR or LLVM type.
#ifndef FATTN_RUNTIME_BASE_BINARY_H
#define FATTN_RUNTIME_BASE_BINARY_H

#include <cstdint>
#include <string>
#include <vector>

#include "fattn/DType.h"
#include "runtime/base/DieOrder.h"

namespace fattn::compiler {

/// One argument of a kernel. Every argument takes one slot of 8 bytes, in order, its value at the slot's start.
struct ArgInfo {
  std::string name;
  bool isPointer = false;
  DType type = DType::F32;
};

/// A number that follows from a launch's arguments: a constant times some of them.
struct LaunchProduct {
  std::int64_t factor = 0;
  std::vector<std::int32_t> arguments;  ///< their numbers; integers

  bool operator==(const LaunchProduct&) const = default;
};

/// An array that a GPU's copy engine reads or writes in boxes (CUDA's CUtensorMap). A launch makes the engine's object of it, in 128 bytes
/// behind the arguments at an alignment of 64.
struct TensorMap {
  std::int32_t pointer = 0;                  ///< the argument that is the array's first element
  std::int32_t elementBytes = 0;             ///< 1, 2, 4 or 8
  std::int32_t swizzleBytes = 0;             ///< 0 (none), 32, 64 or 128
  std::vector<LaunchProduct> sizes;          ///< elements along each dimension, the contiguous one first
  std::vector<LaunchProduct> strides;        ///< bytes from one index to the next along all but the first dimension
  std::int32_t boxColumns = 0, boxRows = 0;  ///< elements of a copy along the first two dimensions; 1 along the others
  bool adds = false;                         ///< the engine adds to the elements, which are numbers of type f32

  bool operator==(const TensorMap&) const = default;
};

/// A compiled kernel. On the host `bytes` is a relocatable ELF object that exports
/// `extern "C" void <entry>(const void* args, const int32_t* grid, void* scratch)`: one call runs one program;
/// args = the packed slots; grid = {id_x, id_y, id_z, num_x, num_y, num_z}; scratch = scratchBytes bytes, 64-byte aligned,
/// private to the calling thread, contents undefined. It refers to libc/libm functions and fattn_device_print only.
struct Binary {
  std::string target = {}, entry = {};
  std::string bytes = {};
  std::vector<ArgInfo> args = {};
  std::int64_t scratchBytes = 0, sharedBytes = 0;
  int threads = 0, registers = 0, spillBytes = 0;
  /// A block takes one program after another: a launch has no more blocks than fit on the device, in one dimension, and hands the entry the
  /// numbers of programs along the three axes (i32) behind its arguments.
  bool repeats = false;
  /// Such blocks ask a counter for the next program. A launch hands the entry its address (8 bytes; null: there is none, and a block takes
  /// every so many-th) between its arguments and these numbers. It is an u32 in global memory, 0 before and after a launch.
  bool counts = false;
  /// So many blocks that are neighbours along x share copies: a launch has a multiple of them along x, and hands the entry the numbers of
  /// programs as above. Not with `repeats`.
  int cluster = 1;
  /// The entry waits for the kernel in front of it in its stream by itself: a launch may say that it need not be held back for that one.
  bool overlaps = false;
  /// Which program a block takes, for models of a launch: launches do not ask, as the entry does by itself.
  DieOrder dieOrder = {};
  int scalarRegisters = 0;                     ///< of a warp, where the chip has such; not kept by caches
  std::vector<TensorMap> tensorMaps = {};      ///< further parameters of the entry, in order
  std::vector<std::int32_t> nonNegative = {};  ///< arguments that must not be negative for the maps to be right
};

}  // namespace fattn::compiler

#endif
