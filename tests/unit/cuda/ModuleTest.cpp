// SPDX-License-Identifier: Apache-2.0
// Loading and launching, and their errors, on the fake driver.
#include <bit>
#include <cstring>
#include <thread>

#include "tests/support/Allocations.h"
#include "tests/unit/cuda/Support.h"

namespace fattn {
namespace {

using test::errorOf;

class CudaModule : public test::Fake {};

constexpr const char* kOn = " on cuda:0, Fake H200: ";

TEST_F(CudaModule, PtxIsAssembledOnceAndItsCubinKept) {
  driver.infoLog =
      "info    : 0 bytes gmem\ninfo    : Function properties for 'kernel':\n"
      "info    : used 40 registers, 16 stack, 12 bytes smem, 380 bytes cmem[0], 8 bytes lmem\n";
  compiler::Binary binary = test::ptxBinary();
  driver.functionAttributes[3] = 8;
  auto module = load(binary);
  EXPECT_EQ(driver.ptx, binary.bytes);
  EXPECT_TRUE(driver.endsInZero);
  EXPECT_EQ(module->linked().milliseconds, 12.5);
  EXPECT_EQ(module->linked().log.registers, 40);
  EXPECT_EQ(module->linked().log.stackBytes, 16);
  EXPECT_EQ(module->linked().log.localBytes, 8);
  EXPECT_EQ(module->linked().text, driver.infoLog);
  EXPECT_EQ(module->resources().registers, 40);
  EXPECT_EQ(module->resources().localBytes, 8);
  EXPECT_EQ(driver.links, 0);
  EXPECT_EQ(driver.count("cuFuncLoad"), 1) << "the first launch may be captured";

  binary.bytes = module->cubin();
  EXPECT_TRUE(binary.bytes.starts_with("\177ELF"));
  auto again = load(binary);
  EXPECT_EQ(driver.count("cuLinkCreate_v2"), 1);
  EXPECT_EQ(again->cubin(), module->cubin());
  EXPECT_EQ(again->linked().text, "");
}

// The assembler inside the driver leaves setmaxnreg out of what it links: kernels of several roles then spill, and take twice the time.
TEST_F(CudaModule, PtxThatMovesRegistersIsNotLinked) {
  compiler::Binary binary = test::ptxBinary();
  binary.bytes += "setmaxnreg.inc.sync.aligned.u32 240;\n";
  auto module = load(binary);
  EXPECT_EQ(driver.count("cuLinkCreate_v2"), 0);
  EXPECT_EQ(driver.ptx, binary.bytes);
  EXPECT_EQ(module->machineCode(), "") << "the text is what is kept";
  EXPECT_EQ(driver.modules, 1);
  driver.once["cuModuleLoadDataEx"] = 218;
  EXPECT_NE(errorOf([&] { load(binary); }).find("could not assemble kernel 'kernel'"), std::string::npos);
}

TEST_F(CudaModule, PtxThatEndsInAZero) {
  compiler::Binary binary = test::ptxBinary();
  binary.bytes.push_back('\0');
  load(binary);
  EXPECT_EQ(driver.ptx.size(), binary.bytes.size() - 1);
  EXPECT_TRUE(driver.endsInZero);
}

TEST_F(CudaModule, InvalidPtxShowsTheAssemblersLog) {
  driver.errorLog = "ptxas application ptx input, line 4; error   : Not a name of any known instruction: 'rte'\n";
  for (const char* function : {"cuLinkAddData_v2", "cuLinkComplete"}) {
    driver.once[function] = 218;
    EXPECT_EQ(
        errorOf([&] { load(test::ptxBinary()); }),
        "compile-error: the NVIDIA driver could not assemble kernel 'kernel' for cuda:0, Fake H200: CUDA_ERROR_INVALID_PTX: a PTX JIT "
        "compilation failed\nptxas application ptx input, line 4; error   : Not a name of any known instruction: 'rte'\n");
  }
}

TEST_F(CudaModule, ADriverTooOldForThePtx) {
  driver.version = 12020;
  compiler::Binary binary = test::ptxBinary();
  std::string tail =
      ", and this driver is for CUDA 12.2 (CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported "
      "toolchain.)\n  hint: update the NVIDIA driver";
  std::string head = "unsupported: the NVIDIA driver is too old for kernel 'kernel': its PTX is of version ";
  binary.bytes = "// made by LLVM\n.version 8.8 // comment\n.target sm_90a, texmode_unified\n";
  driver.results["cuLinkAddData_v2"] = 222;
  EXPECT_EQ(errorOf([&] { load(binary); }), head + "8.8, which needs a driver for CUDA 12.9 or newer" + tail);
  binary.bytes = ".version 99.1\n";
  EXPECT_EQ(errorOf([&] { load(binary); }), head + "99.1, which needs a driver for CUDA newer than any this fattn knows" + tail);
  // Some drivers say it in the log alone.
  driver.results["cuLinkAddData_v2"] = 218;
  driver.errorLog = "ptxas application ptx input, line 1; fatal   : Unsupported .version 9.0; current version is '8.2'";
  binary.bytes = ".version 9.0\n";
  EXPECT_EQ(errorOf([&] { load(binary); }), head +
                                                "9.0, which needs a driver for CUDA 13.0 or newer, and this driver is for CUDA 12.2 "
                                                "(CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed)\n  hint: update the NVIDIA driver");
}

TEST_F(CudaModule, OtherErrorsOfTheAssembler) {
  driver.once["cuLinkAddData_v2"] = 209;
  EXPECT_EQ(
      errorOf([&] { load(test::ptxBinary()); }),
      "unsupported: kernel 'kernel' is PTX for sm_90a, which does not run on cuda:0, Fake H200: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel "
      "image is available for execution on the device");
  driver.once["cuLinkAddData_v2"] = 218;
  driver.errorLog = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";
  EXPECT_EQ(errorOf([&] { load(test::ptxBinary()); }),
            "unsupported: kernel 'kernel' is PTX for sm_90a, which does not run on cuda:0, Fake H200: CUDA_ERROR_INVALID_PTX: a PTX JIT "
            "compilation failed\nptxas fatal   : SM version specified by .target is higher than default SM version assumed");
  driver.errorLog = "";
  driver.once["cuLinkCreate_v2"] = 221;
  EXPECT_EQ(
      errorOf([&] { load(test::ptxBinary()); }),
      "no-device: the NVIDIA driver cannot assemble kernel 'kernel': CUDA_ERROR_JIT_COMPILER_NOT_FOUND: PTX JIT compiler library not "
      "found\n  hint: the driver's library libnvidia-ptxjitcompiler.so.1 is missing: install the whole driver, in a container pass it in");
  driver.once["cuLinkComplete"] = 2;
  EXPECT_EQ(errorOf([&] { load(test::ptxBinary()); }),
            "out-of-memory: could not assemble kernel 'kernel': CUDA_ERROR_OUT_OF_MEMORY: out of memory");
}

TEST_F(CudaModule, TargetsThatDoNotFit) {
  auto loadFor = [&](const char* target, bool cubin = false) {
    compiler::Binary binary = test::ptxBinary();
    binary.target = target;
    if (cubin) binary.bytes = std::string("\177ELF1234");
    return errorOf([&] { load(binary); });
  };
  for (const char* target : {"nvidia:sm_80", "nvidia:sm_89", "nvidia:sm_90", "nvidia:sm_90a", "nvidia:sm_90f"})
    EXPECT_EQ(loadFor(target), "no error") << target;
  EXPECT_EQ(loadFor("nvidia:sm_80", true), "no error") << "what a GPU made of PTX for sm_80 is for that GPU";
  for (const char* target : {"nvidia:sm_80a", "nvidia:sm_100", "nvidia:sm_100a", "nvidia:sm_100f", "nvidia:sm_86f"})
    EXPECT_EQ(loadFor(target), "unsupported: code for target '" + std::string(target) +
                                   "' does not run on cuda:0, Fake H200, which is sm_90\n  hint: compile it for 'nvidia:sm_90'");
  for (const char* target : {"host", "nvidia:", "nvidia:sm_", "nvidia:sm_90x", "nvidia:sm_90aa", "amd:gfx942"})
    EXPECT_EQ(loadFor(target),
              "invalid-argument: cuda:0 cannot load code for target '" + std::string(target) + "'\n  hint: compile it for 'nvidia:sm_90'");
}

TEST_F(CudaModule, CodeThatIsNone) {
  compiler::Binary binary = test::ptxBinary();
  binary.bytes = "hello";
  EXPECT_EQ(errorOf([&] { load(binary); }), "compile-error: the code of kernel 'kernel' is neither PTX text nor a cubin");
  binary.bytes = "\177ELF1234";
  driver.once["cuModuleLoadDataEx"] = 209;
  EXPECT_EQ(
      errorOf([&] { load(binary); }),
      "unsupported: the cubin of kernel 'kernel' is for another chip than cuda:0, Fake H200: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image "
      "is available for execution on the device");
  driver.once["cuModuleLoadDataEx"] = 1;
  EXPECT_EQ(errorOf([&] { load(binary); }),
            "device-error: could not load kernel 'kernel'" + std::string(kOn) + "CUDA_ERROR_INVALID_VALUE: invalid argument");
  driver.entries = {"other"};
  EXPECT_EQ(errorOf([&] { load(binary); }),
            "compile-error: the code for cuda:0 has no kernel 'kernel': CUDA_ERROR_NOT_FOUND: named symbol not found");
}

TEST_F(CudaModule, SharedMemory) {
  compiler::Binary binary = test::ptxBinary();
  binary.sharedBytes = 48 << 10;
  load(binary);
  EXPECT_EQ(driver.maxDynamicSharedBytes, 0) << "what needs no opting in";
  driver.functionAttributes[1] = 16;  // but with 16 bytes of static shared memory it does
  load(binary);
  EXPECT_EQ(driver.maxDynamicSharedBytes, 48 << 10);
  binary.sharedBytes = 232448 - 16;
  auto module = load(binary);
  EXPECT_EQ(driver.maxDynamicSharedBytes, 232448 - 16);
  gpu().launch(*module, {}, {}, {});
  EXPECT_EQ(driver.launches.at(0).sharedBytes, 232448u - 16);
  for (std::int64_t bytes : {std::int64_t{232448}, std::int64_t{5} << 30, std::int64_t{-1}}) {
    binary.sharedBytes = bytes;
    std::string total = std::to_string(bytes == 232448 ? bytes + 16 : bytes);
    EXPECT_EQ(errorOf([&] { load(binary); }), "unsupported: kernel 'kernel' takes " + total +
                                                  " bytes of shared memory; a block on cuda:0, Fake H200, can have at most 232448\n"
                                                  "  hint: smaller blocks or fewer stages take less");
  }
  binary.sharedBytes = 65536;
  driver.once["cuFuncSetAttribute"] = 1;
  EXPECT_EQ(errorOf([&] { load(binary); }), "device-error: could not give kernel 'kernel' 65536 bytes of dynamic shared memory" +
                                                std::string(kOn) + "CUDA_ERROR_INVALID_VALUE: invalid argument");
}

TEST_F(CudaModule, BlocksAndArgumentsThatAreTooLarge) {
  compiler::Binary binary = test::ptxBinary();
  for (int threads : {0, 1025}) {
    binary.threads = threads;
    EXPECT_EQ(errorOf([&] { load(binary); }),
              "invalid-argument: kernel 'kernel' has blocks of " + std::to_string(threads) + " threads; legal are 1 to 1024");
  }
  binary.threads = 512;
  driver.functionAttributes[0] = 256;
  driver.functionAttributes[4] = 255;
  EXPECT_EQ(errorOf([&] { load(binary); }),
            "unsupported: kernel 'kernel' has blocks of 512 threads, but with its 255 registers a thread a block "
            "can have at most 256");
  driver.once["cuFuncGetAttribute"] = 1;
  EXPECT_EQ(errorOf([&] { load(binary); }), "device-error: could not read the attributes of kernel 'kernel'" + std::string(kOn) +
                                                "CUDA_ERROR_INVALID_VALUE: invalid argument");
  binary = test::ptxBinary(513);
  EXPECT_EQ(errorOf([&] { load(binary); }), "unsupported: kernel 'kernel' takes 4104 bytes of arguments; the limit is 4096");
}

TEST_F(CudaModule, ArgumentsLieAtTheirNaturalAlignment) {
  compiler::Binary binary = test::ptxBinary();
  binary.args = {{"p", true, DType::F16},   {"a", false, DType::I1},  {"b", false, DType::F32}, {"c", false, DType::I8},
                 {"d", false, DType::BF16}, {"e", false, DType::I64}, {"f", false, DType::I32}};
  auto module = load(binary);
  std::vector<std::uint64_t> slots = {
      0x1122334455667788, 1, std::bit_cast<std::uint32_t>(2.5f), 0xfe, 0x3f80, 1 << 30, static_cast<std::uint32_t>(-5)};
  for (std::uint64_t& slot : slots)
    if (&slot != &slots[0] && &slot != &slots[5]) slot |= 0xabcd'0000'0000'0000;  // what lies in a slot behind the value is nobody's
  static int stream[1];
  gpu().launch(*module, {3, 4, 5}, slots, {stream});
  const test::FakeLaunch& launch = driver.launches.at(0);
  ASSERT_EQ(launch.bytes, 36u);
  auto at = [&]<typename T>(std::size_t offset, T) {
    T value;
    std::memcpy(&value, launch.arguments + offset, sizeof(T));
    return value;
  };
  EXPECT_EQ(at(0, std::uint64_t()), 0x1122334455667788u);
  EXPECT_EQ(at(8, std::uint8_t()), 1);
  EXPECT_EQ(at(12, float()), 2.5f);
  EXPECT_EQ(at(16, std::uint8_t()), 0xfe);
  EXPECT_EQ(at(18, std::uint16_t()), 0x3f80);
  EXPECT_EQ(at(24, std::uint64_t()), 1u << 30);
  EXPECT_EQ(at(32, std::int32_t()), -5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(launch.grid[i], 3u + i);
    EXPECT_EQ(launch.block[i], i == 0 ? 128u : 1u);
  }
  EXPECT_EQ(launch.stream, stream);
}

TEST_F(CudaModule, ALaunchAllocatesNothingAndWaitsForNothing) {
  auto module = load(test::ptxBinary(26));
  std::vector<std::uint64_t> slots(26, 1);
  gpu().launch(*module, {}, slots, {});
  int waits = driver.count("cuStreamSynchronize");
  long before = test::allocations();
  for (int i = 0; i < 50; ++i) gpu().launch(*module, {}, slots, {});
  EXPECT_EQ(test::allocations() - before, 0);
  EXPECT_EQ(driver.launches.size(), 51u);
  EXPECT_EQ(driver.count("cuStreamSynchronize"), waits);
}

TEST_F(CudaModule, LaunchesFromManyThreads) {
  auto module = load(test::ptxBinary(2));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) gpu().launch(*module, {}, std::vector<std::uint64_t>{1, 2}, {});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(driver.count("cuLaunchKernel"), 800);
}

// What waits for the kernel in front of it by itself need not be held back for it.
TEST_F(CudaModule, LaunchesThatOverlap) {
  compiler::Binary binary = test::ptxBinary(1);
  binary.overlaps = true;
  auto module = load(binary);
  const std::vector<std::uint64_t> one = {7};
  gpu().launch(*module, {2, 3, 4}, one, {});
  ASSERT_EQ(driver.launches.size(), 1u);
  EXPECT_TRUE(driver.launches[0].overlaps);
  EXPECT_EQ(std::vector<unsigned>(driver.launches[0].grid, driver.launches[0].grid + 3), (std::vector<unsigned>{2, 3, 4}));
  EXPECT_EQ(driver.launches[0].arguments[0], 7);
  EXPECT_EQ(driver.count("cuLaunchKernel"), 0);
  driver.once["cuLaunchKernelEx"] = 701;
  EXPECT_TRUE(errorOf([&] { gpu().launch(*module, {2, 3, 4}, one, {}); }).starts_with("device-error: could not launch kernel 'kernel'"));
  gpu().launch(*load(test::ptxBinary(1)), {}, one, {});
  EXPECT_FALSE(driver.launches.back().overlaps) << "others wait";
}

// Such a launch could not be captured into a graph there.
TEST_F(CudaModule, LaunchesDoNotOverlapWithOlderDrivers) {
  driver.version = 12020;
  compiler::Binary binary = test::ptxBinary();
  binary.overlaps = true;
  auto module = load(binary);
  gpu().launch(*module, {}, {}, {});
  ASSERT_EQ(driver.launches.size(), 1u);
  EXPECT_FALSE(driver.launches[0].overlaps);
}

TEST_F(CudaModule, EmptyGridsAndWrongOnes) {
  auto module = load(test::ptxBinary(1));
  std::vector<std::uint64_t> one(1);
  for (Grid grid : {Grid{0, 1, 1}, Grid{1, 0, 1}, Grid{1, 1, 0}}) gpu().launch(*module, grid, one, {});
  EXPECT_EQ(driver.launches.size(), 0u);
  for (Grid grid : {Grid{1, 65536, 1}, Grid{1, 1, 65536}, Grid{std::int64_t{1} << 31, 1, 1}, Grid{-1, 1, 1}})
    EXPECT_EQ(errorOf([&] { gpu().launch(*module, grid, one, {}); }), "invalid-argument: the grid is " + std::to_string(grid.x) + " x " +
                                                                          std::to_string(grid.y) + " x " + std::to_string(grid.z) +
                                                                          "; on cuda:0 legal extents are 0 to 2147483647 x 65535 x 65535");
  EXPECT_EQ(errorOf([&] { gpu().launch(*module, {}, {}, {}); }),
            "invalid-argument: a launch gives 0 arguments to kernel 'kernel', which takes 1");
}

TEST_F(CudaModule, LaunchErrorsNameTheKernelAndItsConfiguration) {
  compiler::Binary binary = test::ptxBinary();
  binary.sharedBytes = 65536;
  auto module = load(binary);
  std::string what = "device-error: could not launch kernel 'kernel' (grid 7 x 8 x 9, block 128, 65536 bytes of dynamic shared memory)";
  driver.once["cuLaunchKernel"] = 701;
  EXPECT_EQ(errorOf([&] { gpu().launch(*module, {7, 8, 9}, {}, {}); }),
            what + kOn + "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch");
  driver.once["cuLaunchKernel"] = 400;
  EXPECT_EQ(errorOf([&] { gpu().launch(*module, {7, 8, 9}, {}, {}); }),
            what + kOn +
                "CUDA_ERROR_INVALID_HANDLE: invalid resource handle\n"
                "  hint: a stream has to be of this GPU's primary context, which is the one that the CUDA runtime uses");
}

TEST_F(CudaModule, AKernelOfAnotherDevice) {
  driver.devices = 2;
  auto module = load(test::ptxBinary());
  EXPECT_EQ(errorOf([&] { start().open("cuda:1").launch(*module, {}, {}, {}); }),
            "invalid-argument: a kernel that cuda:0 loaded was launched on cuda:1\n  hint: load it on cuda:1 too");
  struct HostModule : Module {
    HostModule() : Module(0) {}
  } foreign;
  EXPECT_EQ(errorOf([&] { gpu().launch(foreign, {}, {}, {}); }),
            "invalid-argument: a kernel that a device of another kind loaded was launched on cuda:0\n  hint: load it on cuda:0 too");
}

}  // namespace
}  // namespace fattn
