// SPDX-License-Identifier: Apache-2.0
// Which accesses of a program may touch the same global memory. Every pass that moves a load or a store, or that lets threads run apart
// between the two, asks here; what it may assume stands in docs/language.md ("What may be the same memory"):
//
//   - Pointers come from the kernel's arguments. Those from one argument may lead to the same memory. Those from two arguments may, too,
//     unless one of the two has the attribute `tile.noalias`.
//   - Where one of the two has the attribute `tile.in_place` instead, their windows in one program are the same one or have no memory in
//     common.
//   - An atomic operation with an order touches, for this purpose, all memory: what other programs write becomes visible with it.
//   - Two windows of one array (the same base, shape and strides) share no memory where they share no index: an array that a program
//     writes through a block pointer has a place for each of its elements.
//
// Whether windows share an index follows from their offsets as sums of scalars with constant factors. Integers wrap, so that a difference
// is known modulo 2^32 at best; where a part of it is unknown, modulo the power of two that divides this part.
//
// Assumption: A1 the IR does not change while an object lives, as it remembers what it has found. Test:
// tests/unit/transforms/AliasingTest.cpp.
#ifndef FATTN_COMPILER_TRANSFORMS_ALIASING_H
#define FATTN_COMPILER_TRANSFORMS_ALIASING_H

#include <optional>

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::transforms {

/// On a pointer argument of a kernel: what is accessed through it and written in the same launch is accessed through it alone.
inline constexpr llvm::StringLiteral kNoAliasAttr = "tile.noalias";
/// On a pointer argument: a program that reaches the same memory through another argument too does so by the same windows.
inline constexpr llvm::StringLiteral kInPlaceAttr = "tile.in_place";

/// On a pointer argument: the launch in front of this one writes nothing that is reached through it.
inline constexpr llvm::StringLiteral kSettledAttr = "tile.settled";

/// What one operation does to global memory.
struct MemoryAccess {
  mlir::Operation* op = nullptr;
  mlir::Value pointer;  ///< a block pointer, a pointer or a tile of pointers
  bool reads = false, writes = false;
  bool orders = false;  ///< all other accesses as well, those of other programs among them
};

/// The access of this operation itself, not of what lies in its regions. Operations of all dialects that declare their effects are known.
std::optional<MemoryAccess> accessOf(mlir::Operation* op);
/// Those of the operation and everything in its regions.
llvm::SmallVector<MemoryAccess, 1> accessesIn(mlir::Operation* op);

enum class Overlap : std::uint8_t {
  Never,        ///< no element in common
  SameOrNever,  ///< the same window, or no element in common
  Maybe
};

class Aliasing {
 public:
  /// Whether the arrays that two pointers lead to may have memory in common.
  bool mayAlias(mlir::Value first, mlir::Value second);
  /// Whether a pointer leads to arrays only whose arguments have kSettledAttr.
  bool isSettled(mlir::Value pointer);
  /// Whether two pointers lead to the same memory through different arguments at most, and then by the same windows.
  bool isInPlace(mlir::Value first, mlir::Value second);
  /// Of any execution of the one and any execution of the other, within one program of the grid.
  Overlap overlap(const MemoryAccess& first, const MemoryAccess& second);
  /// Whether `first` in iteration i of the loop and `second` in iteration i + distance may touch the same memory. Both are in its body.
  bool mayOverlap(const MemoryAccess& first, const MemoryAccess& second, mlir::scf::ForOp loop, int64_t distance);

 private:
  /// The arguments of the kernel that a pointer may come from.
  struct Roots {
    llvm::SmallVector<mlir::Value, 2> arguments;
    bool unknown = false;
  };
  /// A sum of factor * value and a constant, all modulo 2^64. A loop's counter stands for the number of its trip.
  struct Form {
    llvm::SmallVector<std::pair<mlir::Value, uint64_t>, 4> terms;
    uint64_t constant = 0;
    static Form of(mlir::Value v) { return {.terms = {{v, 1}}}; }
    void add(const Form& other, uint64_t factor);
    uint64_t factorOf(mlir::Value v) const;
  };
  struct Window {
    mlir::Value root;  ///< a make_block_ptr's result, or a block pointer from elsewhere
    llvm::SmallVector<Form, 3> offsets;
    llvm::ArrayRef<int64_t> sizes;
  };
  /// Which executions of two operations are compared: any two, or such as are `distance` iterations of `loop` apart.
  struct Executions {
    mlir::scf::ForOp loop;
    int64_t distance = 0;
    bool sameValue(mlir::Value v) const;
  };
  /// second - first: `value` modulo `unit`, a power of two up to 2^32.
  struct Difference {
    uint64_t value = 0, unit = uint64_t{1} << 32;
  };

  const Roots& rootsOf(mlir::Value pointer);
  Roots collectRoots(mlir::Value pointer);
  const Form& formOf(mlir::Value v, int depth);
  Form makeForm(mlir::Value v, int depth);
  Form formOfArgument(mlir::BlockArgument argument, int depth);
  Form formOfResult(mlir::OpResult result, int depth);
  Form formOfSum(mlir::Operation* sum, int depth);
  Form formOfProduct(mlir::Operation* product, int depth);
  const std::optional<Window>& windowOf(mlir::Value pointer);
  static bool sameArray(mlir::Value first, mlir::Value second, const Executions& executions);
  static Difference difference(const Form& first, const Form& second, const Executions& executions);
  Overlap overlap(const MemoryAccess& first, const MemoryAccess& second, const Executions& executions);

  llvm::DenseMap<mlir::Value, Roots> roots_;
  llvm::DenseMap<mlir::Value, Form> forms_;
  llvm::DenseMap<mlir::Value, std::optional<Window>> windows_;
};

}  // namespace fattn::transforms

#endif
