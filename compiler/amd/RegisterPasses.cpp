// SPDX-License-Identifier: Apache-2.0
// The names of AMD's passes on command lines.
#include "compiler/amd/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace fattn::amd {
namespace {

struct AmdPipelineArguments : PassPipelineOptions<AmdPipelineArguments> {
  Option<std::string> target{*this, "target", llvm::cl::desc("A row of the machine table"), llvm::cl::init("amd:gfx942")};
  Option<int64_t> warps{*this, "warps", llvm::cl::desc("Waves of a workgroup"), llvm::cl::init(gpu::PipelineOptions().warps)};
  Option<int64_t> stages{*this, "stages", llvm::cl::desc("Trips of a loop whose copies are in flight"),
                         llvm::cl::init(gpu::PipelineOptions().stages)};
  Option<std::string> forced{*this, "forced", llvm::cl::desc("This schedule: \"A B1 a b waves2\"")};
};

}  // namespace

void registerPasses() {
  registerAmdPasses();
  PassPipelineRegistration<AmdPipelineArguments>(
      "amd-pipeline", "Everything from tile to the LLVM and ROCDL dialects", [](OpPassManager& pm, const AmdPipelineArguments& arguments) {
        buildPipeline(
            pm,
            {.target = arguments.target, .warps = arguments.warps, .stages = arguments.stages, .forced = arguments.forced, .verify = true});
      });
}

}  // namespace fattn::amd
