// SPDX-License-Identifier: Apache-2.0
// fattn-opt: reads, verifies, transforms and prints .mlir files that hold the project's dialects. The driver of the lit tests.
#include "compiler/driver/Compile.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/fattn-opt/RegisterPasses.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  fattn::compiler::registerCompilerDialects(registry);
  fattn::tilegpu::registerTileGpuDialects(registry);
  registry.insert<mlir::NVVM::NVVMDialect>();
  fattn::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "fattn-opt: works on tile programs\n", registry);
  // What a program prints is the output then; its text would only follow it.
  if (fattn::printsItsResult(argc, argv)) output = "/dev/null";
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
