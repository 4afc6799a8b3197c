// SPDX-License-Identifier: Apache-2.0
// Loading code objects, and launches that are wrong by themselves.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "fattn/Error.h"
#include "tests/simulator/KernelFixture.h"
#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

using namespace simulator;

std::string messageOf(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "";
}

constexpr const char* kIr = R"(
define amdgpu_kernel void @ids(ptr addrspace(1) %out, i32 %offset) #1 {
  %t = call i32 @llvm.amdgcn.workitem.id.y()
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.y()
  %implicit = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %psize = getelementptr i8, ptr addrspace(4) %implicit, i32 12
  %width = load i16, ptr addrspace(4) %psize
  %blocks = load i32, ptr addrspace(4) %implicit
  %w = zext i16 %width to i32
  %row = mul i32 %t, %w
  %in = add i32 %row, %x
  %size = mul i32 %g, 8
  %i = add i32 %size, %in
  %v = add i32 %blocks, %offset
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %v, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
attributes #1 = { "amdgpu-flat-work-group-size"="8,8" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
)";

class Launches : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Chips, Launches, testing::Values("gfx942", "gfx1100"), [](const auto& info) { return std::string(info.param); });

TEST_P(Launches, HiddenArgumentsAndIdsOfSeveralDimensions) {
  auto object = makeFromIr(GetParam(), kIr);
  std::vector<std::uint32_t> out(24);
  Memory memory;
  std::array<std::byte, 12> arguments;
  std::uint64_t address = memory.add("out", std::as_writable_bytes(std::span(out)));
  std::uint32_t offset = 100;
  std::memcpy(arguments.data(), &address, 8);
  std::memcpy(arguments.data() + 8, &offset, 4);
  LaunchResult result = launch(*object, "ids", arguments, {5, 3, 1}, {4, 2, 1}, memory);
  EXPECT_FALSE(result.fault) << result.fault->text();
  EXPECT_EQ(out, std::vector<std::uint32_t>(24, 105));
  auto refused = [&](std::string_view kernel, std::size_t bytes, std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block) {
    return messageOf([&] { launch(*object, kernel, std::span(arguments).first(bytes), grid, block, memory); });
  };
  EXPECT_EQ(refused("id", 12, {1, 1, 1}, {8, 1, 1}), "the code object has no kernel 'id'; it has ids");
  EXPECT_EQ(refused("ids", 8, {1, 1, 1}, {8, 1, 1}), "the kernel ids cannot be launched: its arguments have 12 bytes, not 8");
  EXPECT_EQ(refused("ids", 12, {1, 1, 1}, {16, 1, 1}),
            "the kernel ids cannot be launched: a block has 16 threads, and it was compiled for at most 8");
  EXPECT_EQ(refused("ids", 12, {0, 1, 1}, {8, 1, 1}),
            "the kernel ids cannot be launched: a grid has at least 1 block a dimension, a block 1 to 1024 threads");
}

/// LLVM loads three pointers as eight dwords.
TEST_P(Launches, ArgumentsMayBeReadToTheEndOfTheirLast16Bytes) {
  const bool cdna = std::string(GetParam()).starts_with("gfx9");
  const std::string wide = cdna ? "s_load_dwordx8" : "s_load_b256", narrow = cdna ? "s_load_dword" : "s_load_b32";
  auto object = makeKernels(GetParam(), {{.name = "within", .body = wide + " s[4:11], s[0:1], 0x0", .pointers = 3},
                                         {.name = "behind", .body = narrow + " s4, s[0:1], 0x20", .pointers = 3}});
  const std::array<std::byte, 24> arguments{};
  auto faultOf = [&](const char* kernel) {
    LaunchResult result = launch(*object, kernel, arguments, {1, 1, 1}, {64, 1, 1}, Memory());
    return result.fault ? result.fault->text() : "";
  };
  EXPECT_EQ(faultOf("within"), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "which ends 4 bytes past the end of the kernel's arguments (32 bytes)", faultOf("behind"));
}

TEST(CodeObjects, OtherBytesAreRefused) {
  std::vector<std::byte> nothing(100);
  EXPECT_TRUE(messageOf([&] { CodeObject::load(nothing); }).starts_with("no code object that can be simulated: "));
  EXPECT_NE(messageOf([&] {
              CodeObject::load(compileIr("gfx90a", kIr));
            }).find("it is for the machine 0x3f of its ELF flags; simulated are gfx942"),
            std::string::npos);
  std::vector<std::byte> bytes = compileIr("gfx942", kIr);
  for (std::size_t size = 0; size < bytes.size(); size += 97)
    EXPECT_NE(messageOf([&] { CodeObject::load(std::span(bytes).first(size)); }), "") << "of " << size << " bytes";
}

/// Whatever stands in a file: it is refused, or runs to a fault or an end.
TEST(CodeObjects, DamagedBytesAreRefusedOrStopped) {
  for (const char* chip : {"gfx942", "gfx1100"}) {
    const std::vector<std::byte> bytes = compileIr(chip, kIr);
    Numbers random(23);
    std::array<std::byte, 12> arguments{};
    for (int i = 0; i < 400; ++i) {
      std::vector<std::byte> damaged = bytes;
      for (int flips = 0; flips < 1 + i % 3; ++flips) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
      try {
        auto object = CodeObject::load(damaged);
        launch(*object, object->kernels().front().name, arguments, {1, 1, 1}, {8, 1, 1}, Memory(), {.mostInstructions = 1000});
      } catch (const Error& error) {
        EXPECT_STRNE(error.what(), "");
      }
    }
  }
}

TEST(CodeObjects, DescribeTheirKernels) {
  auto object = makeFromIr("gfx1100", kIr);
  const Kernel& kernel = object->kernel("ids");
  EXPECT_EQ(object->chip().name, "gfx1100");
  EXPECT_EQ(kernel.lanes, 32);
  EXPECT_EQ(kernel.explicitBytes(), 12U);
  EXPECT_EQ(kernel.maxThreads, 8U);
  EXPECT_EQ(kernel.ldsBytes, 0U);
}

}  // namespace
}  // namespace fattn::test
