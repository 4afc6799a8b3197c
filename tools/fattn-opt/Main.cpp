// SPDX-License-Identifier: Apache-2.0
// fattn-opt: reads, verifies, transforms and prints .mlir files that hold the project's dialects. The driver of the lit tests.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "compiler/driver/Compile.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/text/TextLimits.h"
#include "fattn/Error.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "runtime/base/AtomicFile.h"
#include "tools/fattn-opt/RegisterPasses.h"
#include "tools/io/MlirText.h"

namespace {

// Looks at the limits of what comes from the standard input, and gives it back there.
void checkStandardInput() {
  const std::size_t most = fattn::compiler::TextLimits{}.bytes;
  std::string text(most + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stdin));
  if (const std::string broken = fattn::compiler::brokenLimit(text); !broken.empty())
    throw fattn::Error(fattn::ErrorCode::CompileError, "the standard input: " + broken);
  const int copy = memfd_create("stdin", MFD_CLOEXEC);
  if (copy < 0 || fattn::writeAll(copy, text) != 0 || lseek(copy, 0, SEEK_SET) != 0 || dup2(copy, STDIN_FILENO) < 0)
    throw fattn::Error(fattn::ErrorCode::IoError, "there is no memory for the standard input");
}

int run(int argc, char** argv) {
  mlir::DialectRegistry registry;
  fattn::compiler::registerCompilerDialects(registry);
  fattn::tilegpu::registerTileGpuDialects(registry);
  registry.insert<mlir::NVVM::NVVMDialect>();
  fattn::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "fattn-opt: works on tile programs\n", registry);
  if (input == "-")
    checkStandardInput();
  else
    fattn::io::readMlir(input);
  // What a program prints is the output then; its text would only follow it.
  if (fattn::printsItsResult(argc, argv)) output = "/dev/null";
  int code = 1;
  fattn::io::onLargeStack(
      [&, &input = input, &output = output] { code = mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry)); });
  return code;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& error) {
  fmt::print(stderr, "fattn-opt: error: {}\n", error.what());
  return 1;
}
