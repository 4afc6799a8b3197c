// SPDX-License-Identifier: Apache-2.0
// Programs of blocks with one thing changed, as a compiler with a defect would emit them, and whether that makes them wrong.
//
//   for (const Mutation& mutation : mutationsOf(block)) {
//     OwningOpRef<ModuleOp> mutant = mutate(block, mutation);
//     bool faulty = !judge.faults(*mutant).empty();       // for some order of warps and copies; a redundant change else
//   }
#ifndef FATTN_TESTS_ADVERSARY_MUTANTS_H
#define FATTN_TESTS_ADVERSARY_MUTANTS_H

#include "compiler/gpu/interpreter/Adversary.h"
#include "mlir/IR/OwningOpRef.h"
#include "tests/generator/Choices.h"

namespace fattn::adversary {

enum class MutationKind : std::uint8_t {
  DropWait,      ///< a copy_wait is left out
  RaisePending,  ///< a copy_wait leaves one more copy in flight
  DropBarrier,   ///< a barrier is left out
  DropRelease,   ///< a release of a slot is left out
  EarlyRelease,  ///< a release of a slot stands before the wait for the dot that reads it
  FewerSlots,    ///< a buffer has one slot less, and all numbers of slots are taken modulo what is left
  ShiftSlot,     ///< one access takes the next slot
  Swap,          ///< two neighbours among what touches memory change places
  Overlap,       ///< a buffer gets the place of another
  DropCopy,      ///< a copy by warps that do nothing else is left out
  DropTurn,      ///< a warp group does not wait for its turn, or does not pass it on
  DropObjects,   ///< nobody makes the barrier objects
};
inline constexpr int kMutationKinds = 12;

struct Mutation {
  MutationKind kind = MutationKind::DropWait;
  /// The operations' places in a walk over the module, the second where there is one.
  std::size_t first = 0, second = 0;
  /// "drop-barrier at k.mlir:3:5"
  std::string text;
};

/// Everything that can be changed, always in the same order.
std::vector<Mutation> mutationsOf(mlir::ModuleOp block);
/// One of them: first a kind that the program offers, then a place.
Mutation drawMutation(const std::vector<Mutation>& mutations, generator::Random& random);
/// A changed copy, which is valid IR.
mlir::OwningOpRef<mlir::ModuleOp> mutate(mlir::ModuleOp block, const Mutation& mutation);

/// Says what is wrong with mutants of one program: faults of any kind, and results that are not bit for bit those of the program itself
/// under the same order.
class Judge {
 public:
  /// One run of the program: argument buffers hold the inputs, and are left as they are.
  struct Inputs {
    std::vector<interpreter::Argument> arguments;
    interpreter::Grid grid = {1, 1, 1};
  };
  /// Throws Error{InvalidArgument} where the program itself has a fault.
  Judge(mlir::ModuleOp block, std::vector<Inputs> inputs, Options options = {});

  /// Of the first inputs that show any.
  std::vector<Fault> faults(mlir::ModuleOp mutant) const;

 private:
  /// What the buffers hold, argument by argument.
  using Contents = std::vector<std::vector<char>>;

  std::vector<Inputs> inputs_;
  Options options_;
  std::vector<Contents> before_;                ///< of each inputs
  std::vector<std::vector<Contents>> results_;  ///< of each inputs and order
};

}  // namespace fattn::adversary

#endif
