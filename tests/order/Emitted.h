// SPDX-License-Identifier: Apache-2.0
// A tile program through the passes up to barriers, beside the program before scheduling, and the check of the one by the other.
#ifndef FATTN_TESTS_ORDER_EMITTED_H
#define FATTN_TESTS_ORDER_EMITTED_H

#include "compiler/gpu/check/CheckOrder.h"
#include "compiler/gpu/check/Passes.h"
#include "compiler/nvidia/Passes.h"

namespace fattn::order {

struct Emitted {
  std::shared_ptr<check::OrderRecord> record;  ///< the program before scheduling
  mlir::OwningOpRef<mlir::ModuleOp> module;    ///< with the labels of its accesses; null where the compiler refuses the program
  std::string refused;                         ///< what it says then
};
/// Leaves `module` as it is.
Emitted emit(mlir::ModuleOp module, nvidia::PipelineOptions options);

struct Verdict {
  std::string faults;  ///< one a line, with places
  int runs = 0, unsettled = 0, shallow = 0;
};
Verdict judge(const check::OrderRecord& before, mlir::ModuleOp emitted);
inline Verdict judge(const Emitted& emitted) { return judge(*emitted.record, *emitted.module); }

}  // namespace fattn::order

#endif
