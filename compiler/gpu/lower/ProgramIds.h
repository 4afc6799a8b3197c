// SPDX-License-Identifier: Apache-2.0
// The numbers and ids of the programs that one block takes (tilegpu.each_program), as scalar code.
//
// From one round to the next the number grows by 2 (B - 1 - c) + 1 or by 2 c + 1 in turns (block c of B, see tilegpu::programOf). Both
// steps are taken apart into ids once, so that no program waits for a division.
//
// Numbers are unsigned and below 2^32: a launch has less than 2^31 programs, and no step reaches 2^31.
#ifndef FATTN_COMPILER_GPU_LOWER_PROGRAMIDS_H
#define FATTN_COMPILER_GPU_LOWER_PROGRAMIDS_H

#include <array>

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fattn::gpu {

class ProgramIds {
 public:
  /// What changes from round to round, all i32: the program's ids along x, y and z, its number, and whether the round is odd.
  using State = std::array<mlir::Value, 5>;

  /// Emits here what is the same in all rounds. `extents`: programs along each axis; block `block` of `blocks`; all i32.
  ProgramIds(mlir::ImplicitLocOpBuilder& b, std::array<mlir::Value, 3> extents, mlir::Value block, mlir::Value blocks);

  /// Of the first round.
  const State& first() const { return first_; }
  /// Emits whether this round has a program (i1).
  mlir::Value exists(const State& state) const;
  /// Emits what follows.
  State next(const State& state) const;

 private:
  /// A number of programs; as ids: how many are left in a row, rows left in a plane, and planes.
  struct Step {
    mlir::Value number, x, y, z;
  };
  Step stepOf(mlir::Value number) const;
  mlir::Value constant(int32_t value) const;
  std::pair<mlir::Value, mlir::Value> sum(mlir::Value a, mlir::Value b, mlir::Value extent) const;

  mlir::ImplicitLocOpBuilder& b_;
  std::array<mlir::Value, 3> extents_;
  mlir::Value programs_;
  Step even_, odd_;
  State first_;
};

}  // namespace fattn::gpu

#endif
