// SPDX-License-Identifier: Apache-2.0
// The check of a program's order as passes: one that records the program before its loops are scheduled, and one that compares.
#ifndef FATTN_COMPILER_GPU_CHECK_PASSES_H
#define FATTN_COMPILER_GPU_CHECK_PASSES_H

#include <memory>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::check {

/// The program before scheduling, from one pass to the other.
struct OrderRecord {
  mlir::OwningOpRef<mlir::ModuleOp> before;
};

#define GEN_PASS_DECL
#include "compiler/gpu/check/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/gpu/check/Passes.h.inc"

/// Passes of one pipeline that share the record.
std::unique_ptr<mlir::Pass> createRecordOrderPass(std::shared_ptr<OrderRecord> record);
std::unique_ptr<mlir::Pass> createCheckOrderPass(std::shared_ptr<OrderRecord> record);

}  // namespace fattn::check

#endif
