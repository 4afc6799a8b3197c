// SPDX-License-Identifier: Apache-2.0
// Every kernel of the folder becomes a code object for every row of AMD's machine table, or is refused for what the chip does not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "compiler/gpu/Target.h"
#include "fattn/Error.h"
#include "tests/unit/amd/Compile.h"

namespace fattn {
namespace {

struct Case {
  std::string kernel, target;
  bool isRdna() const { return gpu::findTarget(target).warpSize == 32; }
  /// Its blocks need the registers of four waves of 64 lanes.
  bool isLarge() const { return kernel == "gemm-odd" && isRdna(); }
  /// The words of the refusal; empty where there is none.
  std::string refusal() const {
    if (kernel == "few") return "'tile.device_print' op has no lowering for " + target;
    if (kernel == "gemm-i8") return "'tile.dot' op has operands of 'i8' and 'i8'; " + target + " has matrix instructions";
    if (isRdna() && (kernel == "gemm-ieee" || kernel == "gemm-tf32"))
      return "'tile.dot' op has operands of 'f32' and 'f32'; " + target + " has matrix instructions that take registers for f16, bf16";
    return "";
  }
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto& entry : std::filesystem::directory_iterator(FATTN_KERNELS))
    for (std::string_view target : gpu::targetNames())
      if (target.starts_with("amd:")) result.push_back({entry.path().stem().string(), std::string(target)});
  std::ranges::sort(result, {}, [](const Case& one) { return one.kernel + one.target; });
  return result;
}

class AmdKernels : public testing::TestWithParam<Case> {};

TEST_P(AmdKernels, BecomeCodeObjectsOrAreRefused) {
  const Case& one = GetParam();
  std::string refusal;
  compiler::Binary binary;
  try {
    binary = test::compileKernel(one.kernel, one.target);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::CompileError);
    refusal = error.what();
  }
  if (!one.refusal().empty()) {
    EXPECT_NE(refusal.find(one.refusal()), std::string::npos) << refusal;
    return;
  }
  ASSERT_EQ(refusal, "");
  EXPECT_TRUE(binary.bytes.starts_with("\177ELF"));
  EXPECT_GT(binary.registers, 0);
  EXPECT_GT(binary.scalarRegisters, 0);
  if (!one.isLarge()) {
    EXPECT_EQ(binary.spillBytes, 0);
  }
  EXPECT_EQ(binary.threads, 4 * gpu::findTarget(one.target).warpSize);
}

INSTANTIATE_TEST_SUITE_P(Amd, AmdKernels, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.kernel + "_" + info.param.target.substr(4);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace fattn
