// SPDX-License-Identifier: Apache-2.0
// Registers upstream's general passes and those of the compiler's folders.
#include "tools/fattn-opt/RegisterPasses.h"

#include <algorithm>

#include "compiler/amd/Passes.h"
#include "compiler/cpu/Passes.h"
#include "compiler/emit/HostCode.h"
#include "compiler/gpu/check/Passes.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/nvidia/Passes.h"
#include "compiler/transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "tools/fattn-opt/Interpret.h"

namespace fattn {
namespace {

/// The same output on every machine: the level is chosen on the command line, not found out.
llvm::cl::opt<std::string>& hostLevel() {
  static llvm::cl::opt<std::string> option("host-level",
                                           llvm::cl::desc("The processor the cpu passes compile for: host (this one), "
                                                          "host:sse2, host:avx2, host:avx512 or host:avx512bf16"),
                                           llvm::cl::init("host:avx512bf16"));
  return option;
}

}  // namespace

void registerAllPasses() {
  mlir::registerTransformsPasses();
  registerInterpretPass();
  registerEmitPtxPass();
  transforms::registerPasses();
  tilegpu::registerPasses();
  check::registerPasses();
  nvidia::registerPasses();
  amd::registerPasses();
  hostLevel();
  mlir::registerPass([] { return cpu::createRaiseReductionsPass(); });
  mlir::registerPass([] { return cpu::createLowerTilesPass(emit::hostTarget(hostLevel())); });
  mlir::registerPass([] { return cpu::createExpandMathPass(emit::hostTarget(hostLevel())); });
  mlir::PassPipelineRegistration<> cpuPipeline("cpu-pipeline", "Everything from tile to the LLVM dialect for the host",
                                               [](mlir::OpPassManager& pm) { cpu::buildPipeline(pm, emit::hostTarget(hostLevel())); });
}

bool printsItsResult(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* text) {
    llvm::StringRef argument(text);
    llvm::StringRef name = argument.ltrim('-').take_until([](char c) { return c == '='; });
    return argument.starts_with("-") && (name == "interpret" || name == "emit-ptx");
  });
}

}  // namespace fattn
