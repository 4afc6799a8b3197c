// SPDX-License-Identifier: Apache-2.0
// The numbers and ids of the programs that one block takes (tilegpu.each_program), as scalar code.
//
// A block takes one pair of programs in each round, in the next round one place further (tilegpu::programsOf). What lives from program to
// program are three numbers, and two that divide: everything else is computed for each program again, where registers are free. A division
// by a number that is the same for all programs is a multiplication by its reciprocal, which is computed once.
//
// Numbers are unsigned and below 2^32: a launch has less than 2^31 programs, and no step reaches 2^31.
#ifndef FATTN_COMPILER_GPU_LOWER_PROGRAMIDS_H
#define FATTN_COMPILER_GPU_LOWER_PROGRAMIDS_H

#include <array>

#include "compiler/dialect/Tile.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fattn::gpu {

class ProgramIds {
 public:
  /// What changes from program to program, all i32: the pair's number, its place in the round, and whether this is its second program.
  using State = std::array<mlir::Value, 3>;

  /// `extents`: programs along each axis; pairs are those along axis `along`; block `block` of `blocks`; all i32. Emits here what the first
  /// program needs.
  ProgramIds(mlir::ImplicitLocOpBuilder& b, std::array<mlir::Value, 3> extents, tile::Axis along, mlir::Value block, mlir::Value blocks);

  /// Of the first program.
  const State& first() const { return first_; }
  /// Emits whether there is this program (i1).
  mlir::Value exists(const State& state) const;
  /// A program's ids along x, y and z, and what follows it.
  struct Program {
    std::array<mlir::Value, 3> ids;
    State next;
  };
  Program program(const State& state) const;

 private:
  /// How pairs are numbered: along each axis, and the programs along theirs that may have a second one (0 where there are no pairs).
  struct Pairs {
    std::array<mlir::Value, 3> places;
    mlir::Value seconds;
  };
  Pairs pairs(mlir::Value zero) const;
  /// number / divisor and the remainder; `reciprocal` is reciprocalOf(divisor).
  std::array<mlir::Value, 2> divide(mlir::Value number, mlir::Value divisor, mlir::Value reciprocal) const;
  mlir::Value reciprocalOf(mlir::Value divisor) const;
  mlir::Value constant(int32_t value) const;
  mlir::Value product(const std::array<mlir::Value, 3>& factors) const;

  mlir::ImplicitLocOpBuilder& b_;
  std::array<mlir::Value, 3> extents_;
  std::array<size_t, 3> turns_;  ///< the axes in which pairs are numbered, theirs first
  mlir::Value blocks_;
  std::array<mlir::Value, 2> reciprocals_;  ///< of Pairs::places along the first two of these
  State first_;
};

}  // namespace fattn::gpu

#endif
