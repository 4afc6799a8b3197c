// SPDX-License-Identifier: Apache-2.0
// No driver, no device, wrong names: what is said before there is a GPU to talk to.
#include <cstdlib>

#include "fattn/Device.h"
#include "tests/unit/cuda/Support.h"

namespace fattn {
namespace {

using cuda::System;
using test::errorOf;
using CudaDriver = test::Fake;

TEST_F(CudaDriver, NoLibrary) {
  std::string message = errorOf([] { System({"libfattn-none.so.1", "libfattn-none.so"}); });
  EXPECT_TRUE(
      message.starts_with("no-device: there is no NVIDIA driver: looked for libfattn-none.so.1, then libfattn-none.so "
                          "(libfattn-none.so.1: cannot open shared object file: No such file or directory; libfattn-none.so: cannot"))
      << message;
  EXPECT_TRUE(
      message.ends_with("\n  hint: install the NVIDIA driver, in a container run it with the GPU's libraries mounted, or use target "
                        "'host'; FATTN_CUDA_LIBRARY names a driver library elsewhere"))
      << message;
}

// The real thing, on a machine that has none of it.
TEST_F(CudaDriver, NoLibraryOnThisMachine) {
  std::string message = errorOf([] { openDevice("cuda"); });
  if (message == "no error" || message.find("found no GPU") != std::string::npos) GTEST_SKIP() << "this machine has an NVIDIA driver";
  EXPECT_TRUE(message.starts_with("no-device: there is no NVIDIA driver: looked for libcuda.so.1, then libcuda.so (libcuda.so.1: "))
      << message;
  EXPECT_EQ(listDevices().size(), 1u);
  EXPECT_EQ(openDevice("").name(), "host");
}

TEST_F(CudaDriver, ALibraryWithoutTheFunctions) {
  std::string message = errorOf([] { System({FATTN_EMPTY_CUDA}); });
  EXPECT_TRUE(message.starts_with("no-device: the NVIDIA driver library " FATTN_EMPTY_CUDA
                                  " is too old or is none: it does not export cuDriverGetVersion, cuGetErrorName, "))
      << message;
  EXPECT_EQ(message.find("cuMemPoolCreate"), std::string::npos) << "a driver may lack this one: " << message;
  EXPECT_TRUE(message.ends_with("\n  hint: fattn needs a driver for CUDA 11.0 or newer")) << message;
}

TEST_F(CudaDriver, TheSecondLibraryIsTakenWhereTheFirstIsMissing) {
  EXPECT_EQ(System({"libfattn-none.so.1", FATTN_FAKE_CUDA}).devices().size(), 1u);
}

TEST_F(CudaDriver, InitializationErrors) {
  struct {
    int result;
    std::string text, hint;
  } cases[] = {
      {100, "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
       "the driver sees no GPU; in a container, the GPU has to be passed into it"},
      {34, "CUDA_ERROR_STUB_LIBRARY: CUDA driver is a stub library",
       "this is the library to link against of a CUDA toolkit, not a driver; take it out of LD_LIBRARY_PATH"},
      {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver / cuda driver combination",
       "the driver's library and its kernel module are of different versions; restart the machine after a driver update"},
      {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility was attempted on non supported HW",
       "a CUDA forward-compatibility library was found that this GPU cannot use; take it out of LD_LIBRARY_PATH"},
      {3, "CUDA_ERROR_NOT_INITIALIZED: initialization error",
       "a process that was forked after its parent used CUDA cannot use it; start a new program instead"},
      {999, "CUDA_ERROR_UNKNOWN: unknown error", "see whether nvidia-smi works on this machine"},
      {12345, "CUDA error 12345", "see whether nvidia-smi works on this machine"},
  };
  unsetenv("CUDA_VISIBLE_DEVICES");
  for (const auto& [result, text, hint] : cases) {
    driver.results["cuInit"] = result;
    EXPECT_EQ(errorOf([] { System({FATTN_FAKE_CUDA}); }),
              std::string("no-device: the NVIDIA driver (" FATTN_FAKE_CUDA ") found no GPU that it can use: ")
                  .append(text)
                  .append("\n  hint: ")
                  .append(hint));
  }
}

TEST_F(CudaDriver, HiddenGpus) {
  driver.devices = 0;
  setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  std::string message = errorOf([] { System({FATTN_FAKE_CUDA}); });
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(message, "no-device: the NVIDIA driver (" FATTN_FAKE_CUDA
                     ") found no GPU that it can use: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
                     "  hint: CUDA_VISIBLE_DEVICES is '7', which may hide the GPUs");
}

TEST_F(CudaDriver, TargetsByName) {
  driver.devices = 2;
  EXPECT_EQ(&start().open("cuda"), &start().open("cuda:0"));
  EXPECT_EQ(start().open("cuda:1").name(), "cuda:1");
  EXPECT_EQ(start().open("cuda:1").kind(), DeviceKind::Cuda);
  EXPECT_EQ(errorOf([&] { start().open("cuda:2"); }),
            "no-device: this machine has no GPU 'cuda:2'\n  hint: legal are cuda:0 to cuda:1\n"
            "  cuda:0: Fake H200, sm_90, 132 SMs, 140.0 GiB, driver for CUDA 13.0\n"
            "  cuda:1: Fake H200, sm_90, 132 SMs, 140.0 GiB, driver for CUDA 13.0");
  for (const char* target : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999"})
    EXPECT_EQ(errorOf([&] { start().open(target); }), "invalid-argument: there is no target '" + std::string(target) +
                                                          "'\n  hint: an NVIDIA GPU is 'cuda' (the first) or 'cuda:N', N from 0");
  EXPECT_EQ(errorOf([] { openDevice("cuda:x"); }).substr(0, 44), "invalid-argument: there is no target 'cuda:x")
      << "whatever the machine has";
}

TEST_F(CudaDriver, OrdinalOfAMachineWithOneGpu) {
  EXPECT_TRUE(errorOf([&] {
                start().open("cuda:1");
              }).starts_with("no-device: this machine has no GPU 'cuda:1'\n  hint: the only one is cuda:0\n"));
}

TEST_F(CudaDriver, AChipIsNoDevice) {
  EXPECT_EQ(errorOf([] { openDevice("nvidia:sm_90a"); }),
            "invalid-argument: target 'nvidia:sm_90a' names a chip to compile for, not a device\n"
            "  hint: the NVIDIA GPUs of this machine are 'cuda' (the first) or 'cuda:N'");
  EXPECT_EQ(errorOf([] { openDevice("amd:gfx942"); }),
            "invalid-argument: target 'amd:gfx942' names a chip to compile for, not a device\n  hint: a GPU of AMD's is 'hip' or 'hip:N'; "
            "'simulated:gfx942' executes its code "
            "on the CPU");
}

// In a process of its own: the process's system is made once.
TEST_F(CudaDriver, TheEnvironmentNamesTheLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("FATTN_CUDA_LIBRARY", FATTN_FAKE_CUDA, 1);
        driver.devices = 2;
        bool right = openDevice("host").name() == "host" && driver.count("cuInit") == 0;  // the host needs no driver
        unsetenv("FATTN_TARGET");
        right = right && openDevice("").name() == "cuda:0";
        setenv("FATTN_TARGET", "cuda:1", 1);
        right = right && openDevice("").name() == "cuda:1";
        right = right && openDevice("cuda:1").description() == "Fake H200, sm_90, 132 SMs, 140.0 GiB, driver for CUDA 13.0";
        std::string names;
        for (Device* device : listDevices()) names += device->name() + " ";
        std::fprintf(stderr, "%s%d", names.c_str(), right ? 1 : 0);
        _exit(0);
      },
      testing::ExitedWithCode(0), "cuda:0 cuda:1 host 1");
}

}  // namespace
}  // namespace fattn
