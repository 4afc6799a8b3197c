// SPDX-License-Identifier: Apache-2.0
// PTX of every chip goes through ptxas where it is installed: it must assemble without a warning, a spill or local memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/driver/Compile.h"
#include "compiler/emit/PtxCode.h"
#include "fattn/Error.h"
#include "llvm/Support/CommandLine.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "tests/support/Command.h"

namespace fattn {
namespace {

std::string ptxFor(const std::string& chip) {
  mlir::DialectRegistry registry;
  compiler::registerCompilerDialects(registry);
  registry.insert<mlir::NVVM::NVVMDialect>();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(FATTN_PTX_SOURCE, &context);
  if (!module) throw Error(ErrorCode::IoError, "cannot read " FATTN_PTX_SOURCE);
  return emit::emitPtx(*module, chip);
}

class Chips : public testing::TestWithParam<emit::PtxChip> {};

TEST_P(Chips, TheTextNamesChipAndVersion) {
  const emit::PtxChip& chip = GetParam();
  const std::string ptx = ptxFor(chip.name);
  EXPECT_NE(ptx.find(".version " + std::to_string(chip.version / 10) + "." + std::to_string(chip.version % 10)), std::string::npos);
  EXPECT_NE(ptx.find(std::string(".target ") + chip.name + "\n"), std::string::npos);
}

TEST_P(Chips, TheVendorsAssemblerTakesIt) {
  const std::string chip = GetParam().name;
  if (test::runCommand("ptxas --version").status != 0) GTEST_SKIP() << "ptxas is not installed: PTX for " << chip << " was not assembled";
  auto folder = std::filesystem::temp_directory_path() / ("fattn-ptx-" + chip + "-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "k.ptx") << ptxFor(chip);
  auto [status, log] =
      test::runCommand("ptxas -v -arch=" + chip + " -o " + (folder / "k.cubin").string() + " " + (folder / "k.ptx").string() + " 2>&1");
  std::filesystem::remove_all(folder);
  if (log.find("is not defined for option 'gpu-name'") != std::string::npos) GTEST_SKIP() << "this ptxas does not know " << chip;
  ASSERT_EQ(status, 0) << log;
  EXPECT_EQ(log.find("warning"), std::string::npos) << log;
  EXPECT_NE(log.find("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"), std::string::npos) << log;
}

INSTANTIATE_TEST_SUITE_P(Ptx, Chips, testing::ValuesIn(emit::ptxChips().begin(), emit::ptxChips().end()),
                         [](const auto& info) { return std::string(info.param.name); });

/// With this option LLVM prints the passes that it runs.
TEST(Ptx, ThePassWhoseTimeIsQuadraticIsLeftOut) {
  const char* arguments[] = {"emit-tests", "-debug-pass=Structure"};
  ASSERT_TRUE(llvm::cl::ParseCommandLineOptions(2, arguments));
  testing::internal::CaptureStderr();
  const std::string ptx = ptxFor("sm_90");
  const std::string passes = testing::internal::GetCapturedStderr();
  llvm::cl::ResetAllOptionOccurrences();
  EXPECT_NE(passes.find("NVPTX DAG->DAG Pattern Instruction Selection"), std::string::npos) << passes;
  EXPECT_EQ(passes.find("Straight line strength reduction"), std::string::npos) << passes;
  EXPECT_NE(ptx.find(".visible .entry"), std::string::npos);
}

TEST(Ptx, AnUnknownChipIsRefusedWithTheLegalOnes) {
  try {
    emit::ptxChip("sm_75");
    FAIL() << "sm_75 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(error.constraint(), "no code can be generated for the chip 'sm_75'");
    EXPECT_EQ(error.hint(), "legal are sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_120, sm_120a");
  }
}

}  // namespace
}  // namespace fattn
