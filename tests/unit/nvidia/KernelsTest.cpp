// SPDX-License-Identifier: Apache-2.0
// Every kernel of kernels/ becomes PTX for every row of NVIDIA's machine table. Where ptxas is installed it assembles without a warning,
// a spill or local memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/driver/Compile.h"
#include "compiler/emit/PtxCode.h"
#include "compiler/gpu/Target.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/nvidia/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tests/support/Command.h"

namespace fattn {
namespace {

struct Case {
  std::string kernel, target;
  std::string chip() const { return target.substr(target.find(':') + 1); }
  /// sm_90 has no such instruction in hardware: ptxas makes conversions and 16-bit products of it, and allots their registers as it likes.
  bool emulated() const { return kernel == "gemm-f8" && chip().starts_with("sm_90"); }
  bool prints() const { return kernel == "few"; }
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto& entry : std::filesystem::directory_iterator(FATTN_KERNELS))
    for (std::string_view target : gpu::targetNames())
      if (target.starts_with("nvidia:")) result.push_back({entry.path().stem().string(), std::string(target)});
  std::ranges::sort(result, {}, [](const Case& one) { return one.kernel + one.target; });
  return result;
}

struct Compiled {
  std::string ptx, errors;
};

Compiled compile(const Case& one) {
  mlir::DialectRegistry registry;
  compiler::registerCompilerDialects(registry);
  tilegpu::registerTileGpuDialects(registry);
  registry.insert<mlir::NVVM::NVVMDialect>();
  mlir::MLIRContext context(registry);
  Compiled result;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) { result.errors += diagnostic.str() + "\n"; });
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(FATTN_KERNELS "/" + one.kernel + ".mlir", &context);
  mlir::PassManager pm(&context);
  nvidia::buildPipeline(pm, {.target = one.target, .warps = 4, .stages = 2, .schedule = 0, .forced = ""});
  if (module && mlir::succeeded(pm.run(*module))) result.ptx = emit::emitPtx(*module, one.chip());
  return result;
}

class Kernels : public testing::TestWithParam<Case> {};

TEST_P(Kernels, CompileAndAssemble) {
  const Case& one = GetParam();
  Compiled compiled = compile(one);
  EXPECT_EQ(compiled.errors, "");
  ASSERT_NE(compiled.ptx.find(".target " + one.chip() + "\n"), std::string::npos);
  EXPECT_EQ(compiled.ptx.find(".satfinite"), std::string::npos) << "what is beyond a type's range becomes infinity or NaN, on all targets";
  if (test::runCommand("ptxas --version").status != 0) GTEST_SKIP() << "ptxas is not installed: the PTX was not assembled";
  auto folder = std::filesystem::temp_directory_path() / ("fattn-" + one.kernel + "-" + one.chip() + "-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "k.ptx") << compiled.ptx;
  auto [status, log] = test::runCommand("ptxas -v -arch=" + one.chip() + " -o " + (folder / "k.cubin").string() + " " +
                                        (folder / "k.ptx").string() + " 2>&1");
  std::filesystem::remove_all(folder);
  if (log.find("is not defined for option 'gpu-name'") != std::string::npos) GTEST_SKIP() << "this ptxas does not know " << one.chip();
  ASSERT_EQ(status, 0) << log;
  EXPECT_EQ(log.find("warning"), std::string::npos) << log;
  if (one.emulated()) return;
  EXPECT_NE(log.find("0 bytes spill stores, 0 bytes spill loads"), std::string::npos) << log;
  if (!one.prints()) {
    EXPECT_NE(log.find(" 0 bytes stack frame"), std::string::npos) << log;
  }
}

INSTANTIATE_TEST_SUITE_P(Nvidia, Kernels, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.kernel + "_" + info.param.chip();
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace fattn
