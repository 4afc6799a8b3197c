// SPDX-License-Identifier: Apache-2.0
// Executes kernels of `tilegpu` as they are once waits, barriers and places in shared memory are known (after -tilegpu-place-barriers),
// with the worst that a GPU may do: warps in any order, copies that complete late or at once, copies of an element kept apart. What a
// program may not rely on is reported.
//
// WHAT IS EXECUTED. Each warp runs the program by itself up to the next barrier. A tile is what its layout says: every register of every
// lane has an element of its own. Shared memory is bytes at the offsets of the allocations. Elements that several threads hold are stored
// to global memory and copied by the first of them, and stored to shared memory by all.
//
// WHAT IS REPORTED. Two threads that touch a byte, one of them writing, with no barrier between them, are a race in every order of the
// warps, whether this run's order shows it in the values or not. The same holds for what touches a byte that a copy in flight writes, or
// writes a byte that it reads, before a wait of the copying thread covers it. Reads of bytes that nobody has written, or that were written
// for another buffer, accesses outside of arrays, and barriers that some warps do not reach are reported as well. `compare` says whether
// the values are right.
//
// WHAT THE LOWERING ADDS is modelled here: a select_lazy whose condition the block shares, and an atomic addition whose old values other
// threads need, meet all warps (compiler/gpu/lower/Control.cpp, Scattered.cpp). They are no barriers for memory.
//
// COPIES OF BOXES by an engine are begun by the first warp, once all warps have released the slot, and are there for each warp that has
// waited.
//
// LIMIT. Within a warp all lanes execute an operation at once.
#ifndef FATTN_COMPILER_GPU_INTERPRETER_ADVERSARY_H
#define FATTN_COMPILER_GPU_INTERPRETER_ADVERSARY_H

#include "compiler/interpreter/Interpreter.h"

namespace fattn::adversary {

enum class FaultKind : std::uint8_t {
  Race,        ///< two threads touch a byte, one writes it, and no barrier is between them
  InFlight,    ///< a byte is touched while a copy to it, or from it, may be under way
  Unfenced,    ///< a matrix unit reads a byte that a thread has written and no fence has shown
  Unwritten,   ///< a byte of shared memory is read that nobody has written, or that was written for another buffer
  Bounds,      ///< an access outside of an array or of a buffer
  Endless,     ///< a wait that never ends: for boxes that nobody copies, or a slot that nobody releases
  Divergence,  ///< a barrier that not all warps reach
  Undefined,   ///< an operation without a meaning, such as a division by zero
  Values,      ///< the results differ from what they must be
};
std::string_view name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::Race;
  std::string text;  ///< names the operations with their source locations
  /// The earlier access and the one that meets it; null where there is none.
  mlir::Operation *first = nullptr, *second = nullptr;
};

/// Which warp runs next.
enum class Turn : std::uint8_t {
  Ascending,   ///< the first warp that can, as long as it can
  Descending,  ///< the last
  Random,      ///< any, for a few operations
  Held,        ///< any but some, which run only when no other can; others are held every now and then
};
/// When a copy reads its source and writes its destination.
enum class Completion : std::uint8_t { Late, AtOnce };
/// Where select_lazy takes the exact side beyond where it has to. Either side is right there.
enum class Lazy : std::uint8_t { Needed, Everywhere, Random };

struct Order {
  Turn turn = Turn::Ascending;
  Completion completion = Completion::Late;
  Lazy lazy = Lazy::Needed;
  std::uint64_t seed = 0;
};

struct Options {
  std::vector<Order> orders = {
      {Turn::Ascending, Completion::Late, Lazy::Needed},
      {Turn::Descending, Completion::AtOnce, Lazy::Everywhere},
      {Turn::Random, Completion::Late, Lazy::Random, 1},
      {Turn::Held, Completion::AtOnce, Lazy::Needed, 2},
  };
  /// Called after each order, with the results in the arguments' buffers: what is wrong with them, or an empty text.
  std::function<std::string(const Order& order)> compare;
  /// Stops looking for more.
  std::size_t maxFaults = 16;
  /// Instructions of a warp that may be executed in one run before it is given up.
  std::int64_t maxSteps = std::int64_t{1} << 32;
};

/// Runs the kernel of the module on every program of the grid, once for each order, and gives what is wrong, each pair of operations once.
/// Each order starts with what is in the buffers now; they end with the results of the last. Buffers that overlap are the same memory.
/// Throws fattn::Error: InvalidArgument for arguments that do not fit the kernel, Unsupported for an operation it does not know.
std::vector<Fault> check(mlir::ModuleOp module, const std::vector<interpreter::Argument>& arguments, interpreter::Grid grid,
                         const Options& options = {});

}  // namespace fattn::adversary

#endif
