// SPDX-License-Identifier: Apache-2.0
#include "tests/order/Emitted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace fattn::order {
namespace {

std::string placeOf(Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  return place ? place.getFilename().str() + ":" + std::to_string(place.getLine()) + ": " : std::string();
}

}  // namespace

Emitted emit(ModuleOp module, nvidia::PipelineOptions options) {
  Emitted result{.record = std::make_shared<check::OrderRecord>(), .module = OwningOpRef<ModuleOp>(module.clone()), .refused = {}};
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) result.refused += diagnostic.str() + "\n";
    return success();
  });
  options.order = result.record;
  options.checkOrder = false;
  PassManager pm(module.getContext());
  nvidia::buildBlockPipeline(pm, options);
  if (failed(pm.run(*result.module)) && result.refused.empty()) result.refused = "a pass failed without a word";
  if (!result.refused.empty()) result.module = nullptr;
  return result;
}

Verdict judge(const check::OrderRecord& before, ModuleOp emitted) {
  Verdict verdict;
  ModuleOp source = *before.before;
  for (auto function : emitted.getOps<func::FuncOp>()) {
    FailureOr<check::Result> result = check::checkOrder(source.lookupSymbol<func::FuncOp>(function.getName()), function);
    if (failed(result)) {
      verdict.faults += "cannot be checked\n";
      continue;
    }
    verdict.runs += result->runs;
    verdict.unsettled += result->unsettled;
    verdict.shallow += result->shallow;
    for (const check::Fault& fault : result->faults) {
      verdict.faults += placeOf(fault.at->getLoc()) + fault.at->getName().getStringRef().str() + " " + fault.text;
      if (fault.other) verdict.faults += " [" + placeOf(*fault.other) + fault.note + "]";
      verdict.faults += "\n";
    }
  }
  return verdict;
}

}  // namespace fattn::order
