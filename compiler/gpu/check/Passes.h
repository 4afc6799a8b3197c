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

/// `-tilegpu-record-order`: see RecordOrder.cpp.
std::unique_ptr<mlir::Pass> createRecordOrderPass(std::shared_ptr<OrderRecord> record);
/// `-tilegpu-check-order`: see CheckOrderPass.cpp.
std::unique_ptr<mlir::Pass> createCheckOrderPass(std::shared_ptr<OrderRecord> record);

/// Makes them known to command-line tools.
void registerPasses();

}  // namespace fattn::check

#endif
