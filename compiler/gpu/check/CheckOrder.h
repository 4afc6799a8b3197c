// SPDX-License-Identifier: Apache-2.0
// Proves that a program with all its waits, barriers and places in memory does what the program before scheduling says, in whichever order
// its threads run, or says where it may not.
//
// Each slot's content carries a label: the access that wrote it, and which run of it. The program before scheduling, run in order, says
// what each run of each read finds; the emitted program has to find the same, behind a wait and a barrier where others wrote it, and before
// anything may overwrite it. Both are run on drawn arguments (Execution.h), with every number of trips of each loop up to more than a round
// of its slots. This shares no code with what places waits and barriers and believes none of its results.
//
// Test: tests/lit/gpu/check-order*.mlir, tests/order.
#ifndef FATTN_COMPILER_GPU_CHECK_CHECKORDER_H
#define FATTN_COMPILER_GPU_CHECK_CHECKORDER_H

#include <string>

#include "compiler/gpu/check/Owners.h"
#include "mlir/IR/OwningOpRef.h"

namespace fattn::check {

/// What may go wrong, as sentences for a diagnostic of `at`, which follows its name, and a note at `other`.
struct Fault {
  mlir::Operation* at = nullptr;
  std::string text;
  std::optional<mlir::Location> other;
  std::string note;
};

struct Options {
  Agent agent = Agent::Thread;
  int draws = 200;  ///< of arguments, at most
};

struct Result {
  std::vector<Fault> faults;
  int runs = 0;        ///< of the emitted program that came to an end
  int unfinished = 0;  ///< draws that were too long, or whose slots or bounds depend on data
  /// Loops that had the most trips that are tried and whose memory never came back to an earlier state: more trips may differ. Loops whose
  /// bounds are constants run all their trips.
  int unsettled = 0;
  int shallow = 0;  ///< loops whose bounds are no constants and that no draw gave so many trips, as their bounds are limited or never met
  std::int64_t steps = 0;
};

/// Numbers the accesses of a function, in their locations. Run before loops are scheduled.
void labelSources(mlir::func::FuncOp function);

/// `before`, with the labels that `emitted` came from, is the program before scheduling; null: only waits, barriers and uniformity are
/// checked.
mlir::FailureOr<Result> checkOrder(mlir::func::FuncOp before, mlir::func::FuncOp emitted, const Options& options = {});

}  // namespace fattn::check

#endif
