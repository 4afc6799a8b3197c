// SPDX-License-Identifier: Apache-2.0
// The numbers and ids of the programs that one block takes (tilegpu.each_program), as scalar code.
//
// A block takes one pair of programs in each round, in the next round one place further (tilegpu::programsOf). Both steps that this takes
// are taken apart into ids once, so that no program waits for a division.
//
// Numbers are unsigned and below 2^32: a launch has less than 2^31 programs, and no step reaches 2^31.
#ifndef FATTN_COMPILER_GPU_LOWER_PROGRAMIDS_H
#define FATTN_COMPILER_GPU_LOWER_PROGRAMIDS_H

#include <array>

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fattn::gpu {

class ProgramIds {
 public:
  /// What changes from program to program, all i32: the ids of the pair's first program along x, y and z, the pair's number, its place in
  /// the round, and whether this is its second program.
  using State = std::array<mlir::Value, 6>;

  /// Emits here what is the same for all programs. `extents`: programs along each axis; block `block` of `blocks`; all i32.
  ProgramIds(mlir::ImplicitLocOpBuilder& b, std::array<mlir::Value, 3> extents, mlir::Value block, mlir::Value blocks);

  /// Of the first program.
  const State& first() const { return first_; }
  /// Emits whether there is this program (i1).
  mlir::Value exists(const State& state) const;
  /// Emits its ids along x, y and z.
  std::array<mlir::Value, 3> ids(const State& state) const;
  /// Emits what follows.
  State next(const State& state) const;

 private:
  /// A number of pairs; as ids: how many are left in a row, rows left in a plane, and planes.
  struct Step {
    mlir::Value number, x, y, z;
  };
  Step stepOf(mlir::Value number) const;
  mlir::Value constant(int32_t value) const;
  std::pair<mlir::Value, mlir::Value> sum(mlir::Value a, mlir::Value b, mlir::Value extent) const;

  mlir::ImplicitLocOpBuilder& b_;
  mlir::Value programsX_, blocks_;
  mlir::Value seconds_, count_;        ///< programs along x, or 0 where there are no pairs; pairs in all
  std::array<mlir::Value, 3> places_;  ///< pairs along each axis
  Step further_, back_;                ///< to the next round, from its last place to the first one
  State first_;
};

}  // namespace fattn::gpu

#endif
