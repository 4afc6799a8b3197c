// SPDX-License-Identifier: Apache-2.0
// Lets the trips of innermost loops overlap: what a trip needs from global memory is copied `stages` - 1 trips before.
//
//   scf.for %i = %lo to %hi step %n {                 copy_async of the first trips
//     %t = copy_async %p(%i), %b[0]                   scf.for %i = ... iter_args(%t, ...) {
//     copy_wait %t                             =>       copy_wait %t
//     %x = load_buffer %b[0]                            copy_async of the trip after the next ones
//     tile.dot ... %x                                   %x = load_buffer %b[%slot]
//   }                                                   tile.dot ... %x
//
// How: PipelineLoop.h. Test: tests/lit/gpu/schedule-loops.mlir.
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/PipelineLoop.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

class ScheduleLoopsPass : public PassWrapper<ScheduleLoopsPass, OperationPass<ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScheduleLoopsPass)
  explicit ScheduleLoopsPass(const ScheduleLoopsOptions& options) {
    stages = options.stages;
    schedule = options.schedule;
    forced = options.forced;
  }
  ScheduleLoopsPass(const ScheduleLoopsPass& other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "tilegpu-schedule-loops"; }
  StringRef getDescription() const override { return "Copy data some trips ahead, and overlap what a loop's trips compute"; }
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    if (stages < 1) {
      getOperation().emitError() << "loops have at least 1 stage, but got " << stages.getValue();
      return signalPassFailure();
    }
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      bool innermost = !loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
      if (innermost && !fetchesOf(loop).empty()) loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      if (failed(overlap(loop))) return signalPassFailure();
  }

 private:
  LogicalResult overlap(scf::ForOp loop) {
    SmallVector<Operation*> fetches = fetchesOf(loop);
    StagedOps compute;
    for (Operation& op : loop.getBody()->without_terminator())
      if (!llvm::is_contained(fetches, &op)) compute.push_back({&op, 0});
    if (failed(pipelineLoop(loop, stages - 1, compute))) return loop.emitError("the loop could not be pipelined");
    return success();
  }

  Option<int64_t> stages{*this, "stages", llvm::cl::desc("trips in flight: copies run one less ahead"), llvm::cl::init(2)};
  Option<int64_t> schedule{*this, "schedule", llvm::cl::desc("which of the search's best"), llvm::cl::init(0)};
  Option<std::string> forced{*this, "forced", llvm::cl::desc("this schedule instead")};
};

}  // namespace

std::unique_ptr<Pass> createScheduleLoopsPass(const ScheduleLoopsOptions& options) { return std::make_unique<ScheduleLoopsPass>(options); }

}  // namespace fattn::tilegpu
