// SPDX-License-Identifier: Apache-2.0
// Programs of blocks to make mutants of, each with a judge over several numbers of trips.
#ifndef FATTN_TESTS_ADVERSARY_MUTANTPROGRAMS_H
#define FATTN_TESTS_ADVERSARY_MUTANTPROGRAMS_H

#include <memory>

#include "compiler/gpu/check/Passes.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/adversary/Mutants.h"

namespace fattn::adversary {

struct MutantProgram {
  std::string name;  ///< "two-dots nvidia:sm_80, 4 warps, 2 stages, schedule 1"
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> block;
  std::shared_ptr<check::OrderRecord> order;  ///< the program before scheduling, whose accesses the block's labels name
  std::vector<std::vector<char>> memory;      ///< what the judge's inputs point at
  std::unique_ptr<Judge> judge;
};

/// Throws Error that names the program where the compiler refuses one, or the adversary finds a fault in it before anything is changed.
std::vector<MutantProgram> mutantPrograms();

}  // namespace fattn::adversary

#endif
