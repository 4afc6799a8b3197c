// SPDX-License-Identifier: Apache-2.0
// The names of NVIDIA's passes on command lines.
#include "compiler/gpu/lower/Passes.h"
#include "compiler/nvidia/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace fattn::nvidia {
namespace {

struct PipelineArguments : PassPipelineOptions<PipelineArguments> {
  Option<std::string> target{*this, "target", llvm::cl::desc("A row of the machine table"), llvm::cl::init("nvidia:sm_80")};
  Option<int64_t> warps{*this, "warps", llvm::cl::desc("Warps of a block"), llvm::cl::init(PipelineOptions().warps)};
  Option<int64_t> stages{*this, "stages", llvm::cl::desc("Trips of a loop whose copies are in flight"),
                         llvm::cl::init(PipelineOptions().stages)};
  Option<int64_t> schedule{*this, "schedule", llvm::cl::desc("Which of the best schedules"), llvm::cl::init(PipelineOptions().schedule)};
  Option<std::string> forced{*this, "forced", llvm::cl::desc("This schedule instead: \"S PV1 E L\"")};
  Option<bool> checkOrder{*this, "check-order", llvm::cl::desc("Prove that scheduling, waits and barriers keep the program"),
                          llvm::cl::init(false)};
};

}  // namespace

void registerPasses() {
  registerNvidiaPasses();
  gpu::registerConvertToLlvmPass();
  gpu::registerExpandMathPass();
  PassPipelineRegistration<PipelineArguments>("nvidia-pipeline", "Everything from tile to the LLVM and NVVM dialects",
                                              [](OpPassManager& pm, const PipelineArguments& arguments) {
                                                buildPipeline(pm, {.target = arguments.target,
                                                                   .warps = arguments.warps,
                                                                   .stages = arguments.stages,
                                                                   .schedule = arguments.schedule,
                                                                   .forced = arguments.forced,
                                                                   .verify = true,
                                                                   .checkOrder = arguments.checkOrder});
                                              });
}

}  // namespace fattn::nvidia
