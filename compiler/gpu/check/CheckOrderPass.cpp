// SPDX-License-Identifier: Apache-2.0
// Compares a program whose waits, barriers and shared memory are placed with the program before its loops were scheduled, and makes every
// fault an error (CheckOrder.h says how):
//
//   k.cpp:12: 'tilegpu.load_buffer' op reads what other threads write: a tilegpu.barrier is missing between the write and this read
//   k.cpp:11: note: the write
//
// The program before scheduling is what -tilegpu-record-order has kept, or a module named tilegpu_before in this one; without either only
// waits, barriers and conditions that differ between warps are checked. Test: tests/lit/gpu/check-order*.mlir.
#include "compiler/gpu/check/CheckOrder.h"
#include "compiler/gpu/check/Passes.h"
#include "compiler/gpu/dialect/SourceLabels.h"
#include "fattn/Error.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace fattn::check {

#define GEN_PASS_DEF_CHECKORDERPASS
#include "compiler/gpu/check/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kBeforeName = "tilegpu_before";
constexpr size_t kMostShown = 8;

class CheckOrderPass : public impl::CheckOrderPassBase<CheckOrderPass> {
 public:
  using CheckOrderPassBase::CheckOrderPassBase;
  CheckOrderPass() = default;
  explicit CheckOrderPass(std::shared_ptr<OrderRecord> record) : record(std::move(record)) {}
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ModuleOp before = record && record->before ? *record->before : module.lookupSymbol<ModuleOp>(kBeforeName);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isDeclaration()) continue;
      auto source = before ? before.lookupSymbol<func::FuncOp>(function.getName()) : func::FuncOp();
      if (failed(check(source, function))) signalPassFailure();
      tilegpu::removeSourceLabels(function);
    }
  }

 private:
  LogicalResult check(func::FuncOp source, func::FuncOp function) {
    try {
      FailureOr<Result> result = checkOrder(source, function, {.agent = warps ? Agent::Warp : Agent::Thread});
      if (failed(result)) return failure();
      if (explain)
        function.emitRemark() << "checked in " << result->runs << " runs of " << result->steps << " steps, " << result->unfinished
                              << " more could not be followed, " << result->unsettled << " loops did not settle, " << result->shallow
                              << " had few trips in all draws";
      if (result->unsettled > 0)
        function.emitRemark() << "its order is checked for some numbers of trips only: in " << result->unsettled
                              << " of its loops memory does not come back to an earlier state";
      if (result->runs == 0)
        function.emitRemark("its order could not be checked: bounds or slots depend on data, or no draw of the arguments ends in time");
      for (const Fault& fault : ArrayRef(result->faults).take_front(kMostShown)) {
        InFlightDiagnostic error = fault.at->emitOpError() << fault.text;
        if (fault.other) error.attachNote(fault.other) << fault.note;
      }
      return success(result->faults.empty());
    } catch (const Error& error) {  // the layout library's
      return function.emitError() << "cannot be checked: " << error.what();
    }
  }

  std::shared_ptr<OrderRecord> record;
};

}  // namespace

std::unique_ptr<Pass> createCheckOrderPass(std::shared_ptr<OrderRecord> record) {
  return std::make_unique<CheckOrderPass>(std::move(record));
}

}  // namespace fattn::check
