// SPDX-License-Identifier: Apache-2.0
// GPUs of AMD's behind HIP, on the stand-in whose kernels the simulator executes, and HIP's own library where it is installed.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "fattn/Error.h"
#include "runtime/hip/HipDevice.h"
#include "tests/unit/amd/Compile.h"
#include "tests/unit/hip/FakeHip.h"

namespace fattn::hip {
namespace {

#define EXPECT_SAYS(text, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)

/// out[i] = x[i] * factor, 32 a program; arguments of 8, 4 and 8 bytes.
const char* const kScale = R"(
func.func @scale(%x: !tile.ptr<f32>, %factor: f32, %out: !tile.ptr<f32>, %size: i64) attributes {tile.kernel} {
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %id = tile.program_id x : i32
  %wide = arith.extsi %id : i32 to i64
  %first = arith.muli %wide, %c32 : i64
  %px = tile.make_block_ptr %x, shape [%size], strides [%c1], offsets [%first] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %po = tile.make_block_ptr %out, shape [%size], strides [%c1], offsets [%first] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %f = tile.splat %factor : f32 -> tensor<32xf32>
  %a = tile.load %px {boundary_check = array<i64: 0>} : !tile.block_ptr<32xf32> -> tensor<32xf32>
  %b = arith.mulf %a, %f : tensor<32xf32>
  tile.store %po, %b {boundary_check = array<i64: 0>} : !tile.block_ptr<32xf32>, tensor<32xf32>
  return
}
)";

std::string refusal(const std::function<void()>& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

class Hip : public testing::Test {
 protected:
  void SetUp() override { fake() = test::FakeHip(); }
  static test::FakeHip& fake() {
    static auto* state = [] {
      void* library = dlopen(FATTN_FAKE_HIP, RTLD_NOW | RTLD_LOCAL);
      return reinterpret_cast<test::FakeHip* (*)()>(dlsym(library, "fattnFakeHip"))();
    }();
    return *state;
  }
  static System start() { return System({FATTN_FAKE_HIP}); }
};

TEST_F(Hip, SaysWhatAGpuIs) {
  for (const char* chip : {"gfx942:sramecc+:xnack-", "gfx1100", "gfx90a:sramecc+:xnack-"}) {
    fake().architecture = chip;
    System system = start();
    HipDevice& device = system.open("hip");
    const std::string name(chip, std::string_view(chip).find(':') == std::string_view::npos ? 7 : 6);
    EXPECT_EQ(device.chip(), "amd:" + name);
    EXPECT_EQ(device.name(), "hip:0");
    EXPECT_EQ(device.description(), "Fake gfx GPU, " + name + ", 304 CUs, 192 GiB, HIP 6.2");
    EXPECT_EQ(device.capabilities().multiprocessors, 304);
    EXPECT_EQ(name == "gfx942" ? 64 << 10 : device.capabilities().sharedBytes, 64 << 10);
  }
}

TEST_F(Hip, RunsKernels) {
  System system = start();
  Device& device = system.open("hip:0");
  std::vector<float> x(100), out(100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  {
    const auto module = device.load(test::compileText(kScale, device.chip()));
    EXPECT_EQ(module->slots(), 4U);
    const Stream stream = device.createStream();
    void *there = device.allocate(400), *result = device.allocate(400);
    device.copy(there, x.data(), 400, stream);
    device.fill(result, 0, 400, stream);
    const std::array<std::uint64_t, 4> slots = {reinterpret_cast<std::uint64_t>(there), std::bit_cast<std::uint32_t>(2.5F),
                                                reinterpret_cast<std::uint64_t>(result), 100};
    auto begin = device.createEvent(), end = device.createEvent();
    begin->record(stream);
    device.launch(*module, {4, 1, 1}, slots, stream);
    end->record(stream);
    EXPECT_EQ(fake().fault, "");
    EXPECT_GE(device.elapsedMs(*begin, *end), 0);
    device.copy(out.data(), result, 400, stream);
    device.synchronize(stream);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], 2.5F * x[i]) << i;
    device.free(there), device.free(result), device.destroyStream(stream);
  }
  EXPECT_EQ(fake().modules + fake().streams + fake().events + fake().allocations, 0);
}

TEST_F(Hip, RefusesWrongLaunchesAndCodeForOtherChips) {
  System system = start();
  HipDevice& device = system.open("hip");
  const auto code = [&] { return test::compileText(kScale, device.chip()); };
  EXPECT_EQ(refusal([&] { device.load(test::compileText(kScale, "amd:gfx1100")); }, ErrorCode::InvalidArgument),
            "hip:0 is amd:gfx942, and cannot load code for target 'amd:gfx1100'\n  hint: compile it for 'hip:0'");
  fake().results["hipModuleLoadData"] = kNoBinaryForGpu;
  EXPECT_SAYS(refusal([&] { device.load(code()); }, ErrorCode::Unsupported),
              "hip:0 (amd:gfx942) cannot load the code of kernel 'scale', which was compiled for 'amd:gfx942': hipErrorOther");
  fake().results.clear();
  fake().results["hipModuleGetFunction"] = 500;
  EXPECT_SAYS(refusal([&] { device.load(code()); }, ErrorCode::DeviceError), "could not find kernel 'scale' in its code: ");
  fake().results.clear();
  EXPECT_EQ(fake().modules, 0);
  const auto module = device.load(code());
  const std::array<std::uint64_t, 4> slots{};
  EXPECT_EQ(refusal([&] { device.launch(*module, {1, 1, 1}, std::span(slots).first(2), {}); }, ErrorCode::InvalidArgument),
            "a launch gives 2 arguments to kernel 'scale', which takes 4");
  EXPECT_SAYS(refusal([&] { device.launch(*module, {1, 1, 65536}, slots, {}); }, ErrorCode::InvalidArgument), "legal extents are 0 to");
  fake().results["hipModuleLaunchKernel"] = kInvalidValue;
  EXPECT_SAYS(refusal([&] { device.launch(*module, {1, 1, 1}, slots, {}); }, ErrorCode::DeviceError),
              "could not launch kernel 'scale' (grid 1 x 1 x 1, block 256) on hip:0: ");
  fake().results["hipMalloc"] = kOutOfMemory;
  EXPECT_SAYS(refusal([&] { device.allocate(100); }, ErrorCode::OutOfMemory), "could not allocate 100 bytes on hip:0: ");
  System other = start();
  EXPECT_SAYS(refusal([&] { other.open("hip").launch(*module, {1, 1, 1}, slots, {}); }, ErrorCode::InvalidArgument),
              "a kernel that another device loaded was launched on hip:0");
}

TEST_F(Hip, MachinesWithoutHipOrGpuAreToldWhy) {
  EXPECT_SAYS(refusal([] { System({"libno-hip.so.1", "libno-hip.so.2"}); }, ErrorCode::NoDevice),
              "there is no HIP runtime: looked for libno-hip.so.1, then libno-hip.so.2 (");
  EXPECT_SAYS(refusal([] { System({"libm.so.6"}); }, ErrorCode::NoDevice),
              "the HIP library libm.so.6 is too old or is none: it does not export hipInit, hipGetDeviceCount");
  fake().results["hipInit"] = kNoDevice;
  EXPECT_SAYS(refusal([] { start(); }, ErrorCode::NoDevice),
              "found no GPU that it can use: hipErrorNoDevice: no ROCm-capable device is detected");
  fake().results.clear();
  fake().devices = 0;
  EXPECT_SAYS(refusal([] { start(); }, ErrorCode::NoDevice), "hipErrorNoDevice");
  fake().devices = 1;
  System system = start();
  EXPECT_SAYS(refusal([&] { system.open("hip:1"); }, ErrorCode::NoDevice),
              "this machine has no GPU 'hip:1'\n  hint: it has\n  hip:0: Fake");
  EXPECT_SAYS(refusal([&] { system.open("hip:x"); }, ErrorCode::InvalidArgument), "there is no target 'hip:x'");
}

/// Debian's HIP 5.2, or a later one.
TEST(InstalledHip, SaysThatThereIsNoDevice) {
  const std::vector<std::string> names = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
  bool installed = false;
  for (const std::string& name : names) installed = installed || dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
  if (!installed) GTEST_SKIP() << "HIP is not installed (Debian: libamdhip64-5)";
  try {
    const System system(names);
    GTEST_SKIP() << "HIP has a GPU here: " << system.devices().front()->description();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NoDevice);
    EXPECT_SAYS(error.what(), "found no GPU that it can use: hipError");
    EXPECT_SAYS(error.what(), "hint: HIP sees no GPU; it needs /dev/kfd and /dev/dri");
  }
}

}  // namespace
}  // namespace fattn::hip
