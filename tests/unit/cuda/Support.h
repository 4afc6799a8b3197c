// SPDX-License-Identifier: Apache-2.0
// What the tests of runtime/cuda share: a system on the fake driver, binaries, messages.
#ifndef FATTN_TESTS_UNIT_CUDA_SUPPORT_H
#define FATTN_TESTS_UNIT_CUDA_SUPPORT_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fattn/Error.h"
#include "runtime/base/Binary.h"
#include "runtime/cuda/System.h"
#include "tests/unit/cuda/FakeDriver.h"

namespace fattn::test {

inline FakeDriver& fakeDriver() {
  static FakeDriver* driver = [] {
    void* library = dlopen(FATTN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fattnFakeDriver"))();
  }();
  return *driver;
}

/// Code and message of the fattn::Error that `function` throws: "no-device: there is ...".
template <typename Function>
std::string errorOf(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.what();
  }
  return "no error";
}

inline compiler::Binary ptxBinary(int arguments = 0) {
  compiler::Binary binary{
      .target = "nvidia:sm_90a", .entry = "kernel", .bytes = ".version 8.0\n.target sm_90a\n", .args = {}, .threads = 128};
  for (int i = 0; i < arguments; ++i) binary.args.push_back({.name = "a", .isPointer = true, .type = DType::I64});
  return binary;
}

class Fake : public testing::Test {
 protected:
  Fake() { driver.reset(); }
  void TearDown() override {
    system.reset();
    EXPECT_EQ(driver.retained, 0);
    EXPECT_EQ(driver.modules, 0);
    EXPECT_EQ(driver.streams, 0);
    EXPECT_EQ(driver.events, 0);
    EXPECT_EQ(driver.pools, 0);
    EXPECT_EQ(driver.links, 0);
    EXPECT_EQ(driver.memory.size(), 0u);
  }

  cuda::System& start() {
    if (!system) system = std::make_unique<cuda::System>(std::vector<std::string>{FATTN_FAKE_CUDA});
    return *system;
  }
  cuda::CudaDevice& gpu() { return start().open("cuda"); }
  std::unique_ptr<cuda::CudaModule> load(const compiler::Binary& binary) {
    return std::unique_ptr<cuda::CudaModule>(static_cast<cuda::CudaModule*>(gpu().load(binary).release()));
  }
  cuda::Context current() {
    cuda::Context context = nullptr;
    start().driver().api().CtxGetCurrent(&context);
    return context;
  }

  FakeDriver& driver = fakeDriver();
  std::unique_ptr<cuda::System> system;
};

}  // namespace fattn::test

#endif
