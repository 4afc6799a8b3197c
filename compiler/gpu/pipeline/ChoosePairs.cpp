// SPDX-License-Identifier: Apache-2.0
// Chooses between two partitions of a loop's products: all groups share each one, or each group computes one of them, and they exchange
// what follows. Layouts, copies and exchanges follow from that, and so do the nodes of the loop's graph. So the passes up to the schedules
// run on a copy of the function for each, and the model's cycles of the best orders decide.
//
// Shared columns win where both take the same: they need no exchange. A partition that a pass refuses is not taken. Only the loop with the
// most dots counts, as in tools (ScheduledLoop.h, busiest).
//
// Test: tests/unit/fattn-dump/LoopTest.cpp.
#include "compiler/gpu/pipeline/ChoosePairs.h"

#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/PairedDots.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

class ChoosePairsPass : public PassWrapper<ChoosePairsPass, OperationPass<ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChoosePairsPass)

  ChoosePairsPass(std::string target, int64_t warps, BuildUpToSchedules build)
      : target_(std::move(target)), warps_(warps), build_(std::move(build)) {}

  StringRef getArgument() const override { return "tilegpu-choose-pairs"; }
  StringRef getDescription() const override { return "Choose whether warp groups compute products of their own"; }
  void getDependentDialects(DialectRegistry& registry) const override { tilegpu::registerTileGpuDialects(registry); }

  void runOnOperation() override {
    const Target& machine = findTarget(target_);
    if (!machine.warpGroup || warps_ % *machine.warpGroup != 0 || warps_ < 2 * *machine.warpGroup) return;
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal() && hasAlike(function, warps_ / *machine.warpGroup)) choose(function);
  }

 private:
  static bool hasAlike(func::FuncOp function, int64_t groups) {
    return function
        .walk([&](scf::ForOp loop) { return tilegpu::pairedDots(loop, groups).empty() ? WalkResult::advance() : WalkResult::interrupt(); })
        .wasInterrupted();
  }

  void choose(func::FuncOp function) {
    const std::optional<double> shared = cyclesOf(function, /*pairs=*/false), own = cyclesOf(function, /*pairs=*/true);
    if (own && (!shared || *own < *shared)) function->setAttr(tilegpu::kPairsAttr, UnitAttr::get(&getContext()));
  }

  /// Of the best order of the busiest loop; nothing where there is none.
  std::optional<double> cyclesOf(func::FuncOp function, bool pairs) {
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto trial = ModuleOp::create(b, function.getLoc());
    trial->setDiscardableAttrs(getOperation()->getDiscardableAttrDictionary());
    trial.getBody()->push_back(function->clone());
    std::vector<ScheduledLoop> loops;
    OpPassManager passes(ModuleOp::getOperationName());
    build_(passes, pairs, [&](ScheduledLoop loop) { loops.push_back(std::move(loop)); });
    ScopedDiagnosticHandler silent(&getContext(), [](Diagnostic&) { return success(); });
    const bool kept = succeeded(runPipeline(passes, trial));
    trial.erase();
    const ScheduledLoop* loop = kept ? busiest(loops) : nullptr;
    if (!loop || loop->found.best.empty()) return std::nullopt;
    return loop->found.best.front().score();
  }

  std::string target_;
  int64_t warps_;
  BuildUpToSchedules build_;
};

}  // namespace

std::unique_ptr<Pass> createChoosePairsPass(std::string target, int64_t warps, BuildUpToSchedules build) {
  return std::make_unique<ChoosePairsPass>(std::move(target), warps, std::move(build));
}

}  // namespace fattn::gpu
