// SPDX-License-Identifier: Apache-2.0
// The command line tool simulate-kernel on files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/simulator/MakeCodeObject.h"
#include "tests/support/Command.h"
#include "tools/io/File.h"
#include "tools/io/Npy.h"

namespace fattn::test {
namespace {

constexpr const char* kDouble = R"(
define amdgpu_kernel void @double(ptr addrspace(1) %in, i32 %count, float %factor, ptr addrspace(1) %out) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %within = icmp ult i32 %t, %count
  br i1 %within, label %work, label %done
work:
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %x = load float, ptr addrspace(1) %p
  %y = fmul float %x, %factor
  %q = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %y, ptr addrspace(1) %q
  br label %done
done:
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
)";

class Tool : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("simulate-kernel-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    std::vector<std::byte> bytes = compileIr("gfx942", kDouble);
    std::ofstream(folder_ / "k.hsaco", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    io::HostTensor in = io::HostTensor::allocate(DType::F32, {8});
    for (int i = 0; i < 8; ++i) reinterpret_cast<float*>(in.data())[i] = static_cast<float>(i);
    io::writeNpy(folder_ / "in.npy", in);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// What it prints, and its exit code as the last line.
  std::string run(const std::string& arguments) {
    CommandResult result = runCommand("cd '" + folder_.string() + "' && '" FATTN_SIMULATE_KERNEL "' k.hsaco " + arguments + " 2>&1");
    return result.output + "exit " + std::to_string(result.status) + "\n";
  }
  std::filesystem::path folder_;
};

TEST_F(Tool, RunsAKernelOnArrays) {
  std::string text = run("--block 64 in.npy i32:8 f32:2.5 out.npy=f32:8");
  EXPECT_NE(text.find("global bytes              64\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("exit 0\n")) << text;
  io::HostTensor out = io::readNpy(io::FileSource(folder_ / "out.npy"));
  ASSERT_EQ(out.shape(), std::vector<std::int64_t>{8});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(reinterpret_cast<const float*>(out.data())[i], 2.5F * static_cast<float>(i));
}

TEST_F(Tool, SaysWhatIsWrong) {
  std::string fault = run("in.npy i32:9 f32:2.5 out.npy=f32:8");
  EXPECT_NE(fault.find("simulate-kernel: error: kernel+"), std::string::npos) << fault;
  EXPECT_NE(fault.find("lane 8: reads 4 bytes at 0x"), std::string::npos) << fault;
  EXPECT_TRUE(fault.ends_with("exit 1\n")) << fault;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.npy"));
  EXPECT_NE(run("in.npy x:8").find("'x:8' is no argument of a kernel\n  hint: legal are FILE.npy"), std::string::npos);
  EXPECT_NE(run("in.npy").find("its arguments have 24 bytes, not 8"), std::string::npos);
  EXPECT_NE(run("--grid 1,x in.npy").find("'1,x' is no size of a grid or a block"), std::string::npos);
  EXPECT_TRUE(run("--order sideways in.npy").ends_with("exit 2\n"));
}

TEST_F(Tool, DescribesAFile) { EXPECT_NE(run("").find("double for gfx942: 24 bytes of arguments, "), std::string::npos); }

}  // namespace
}  // namespace fattn::test
