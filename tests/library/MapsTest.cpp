// SPDX-License-Identifier: Apache-2.0
// Matrix products whose operands have no tensor maps, on a driver made for tests: each is launched, by code that needs none.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "fattn/Error.h"
#include "fattn/Library.h"
#include "tests/unit/cuda/FakeDriver.h"

namespace fattn {
namespace {

/// Prints, for each product, whether its launch had maps.
[[noreturn]] void launchAll() {
  setenv("FATTN_CUDA_LIBRARY", FATTN_FAKE_CUDA, 1);
  void* library = dlopen(FATTN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  test::FakeDriver& driver = *reinterpret_cast<test::FakeDriver* (*)()>(dlsym(library, "fattnFakeDriver"))();
  driver.entries.insert("gemm");
  auto* data = reinterpret_cast<unsigned char*>(0x1000000);  // nothing reads it
  auto launch = [&](const char* name, std::int64_t m, std::int64_t k, std::int64_t row) {
    const int before = driver.count("cuTensorMapEncodeTiled");
    try {
      gemm({},
           {.a = TensorView(data, DType::F16, {m, k}, {row, 1}),
            .b = TensorView(data + 0x100000, DType::F16, {k, 64}),
            .out = TensorView(data + 0x200000, DType::F16, {m, 64})},
           "cuda");
      const char* how = driver.count("cuTensorMapEncodeTiled") > before ? "by maps" : "without maps";
      std::fprintf(stderr, "%s: %s\n", name, driver.launches.empty() ? "no launch" : how);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: %s\n", name, error.what());
    }
    driver.launches.clear();
  };
  launch("rows in a piece", 128, 64, 64);
  launch("one row for all", 128, 64, 0);
  launch("one row, whatever its stride", 1, 64, 67);
  launch("no depth", 128, 0, 64);
  _exit(0);
}

TEST(LibraryMaps, AProductWhoseOperandsHaveNoMapsTakesOtherCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      launchAll(), testing::ExitedWithCode(0),
      "rows in a piece: by maps\none row for all: without maps\none row, whatever its stride: without maps\nno depth: without maps\n");
}

}  // namespace
}  // namespace fattn
