// SPDX-License-Identifier: Apache-2.0
// The check of a program's order as passes: names, options and descriptions.
#ifndef FATTN_COMPILER_GPU_CHECK_PASSES_TD
#define FATTN_COMPILER_GPU_CHECK_PASSES_TD

include "mlir/Pass/PassBase.td"

def RecordOrderPass : Pass<"tilegpu-record-order", "::mlir::ModuleOp"> {
  let summary = "Keep the program as it is before its loops are scheduled, for the check of its order";
  let description = [{
    Numbers the accesses to memory. Runs before `-tilegpu-schedule-loops`.
  }];
  let options = [Option<"print", "print", "bool", "false", "numbers as attributes">];
}

def CheckOrderPass : Pass<"tilegpu-check-order", "::mlir::ModuleOp"> {
  let summary = "Prove that waits, barriers and slots keep the program before scheduling";
  let description = [{
    Runs the block's program and the recorded one beside each other on drawn arguments, and reports accesses that may see other data than in the recorded one, and
    waits and barriers that are missing. The recorded program is what `-tilegpu-record-order` kept, or a module named `tilegpu_before` in the file. Runs last.
  }];
  let options = [
    Option<"warps", "warps", "bool", "false", "take a warp's lanes for one thread">,
    Option<"explain", "explain", "bool", "false", "say what was run">
  ];
}

#endif
