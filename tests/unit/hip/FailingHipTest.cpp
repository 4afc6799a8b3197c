// SPDX-License-Identifier: Apache-2.0
// A GPU of AMD's that fails at every call in turn, or is lost at every call in turn: on the stand-in.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "fattn/Error.h"
#include "runtime/hip/HipDevice.h"
#include "tests/unit/amd/Compile.h"
#include "tests/unit/hip/FakeHip.h"

namespace fattn::hip {
namespace {

const char* const kNothing = "func.func @nothing(%x: !tile.ptr<f32>) attributes {tile.kernel} {\n  return\n}\n";

class FailingHip : public testing::Test {
 protected:
  FailingHip() : fake_(*reinterpret_cast<test::FakeHip* (*)()>(dlsym(dlopen(FATTN_FAKE_HIP, RTLD_NOW | RTLD_LOCAL), "fattnFakeHip"))()) {
    fake_ = test::FakeHip();
    binary_ = test::compileText(kNothing, "amd:gfx942");
  }
  ~FailingHip() override { fake_ = test::FakeHip(); }

  // All that an engine does with a GPU. Gives the error's text, or "".
  std::string everything() try {
    System system({FATTN_FAKE_HIP});
    HipDevice& device = system.open("hip");
    const Stream stream = device.createStream();
    std::string said;
    try {
      useAll(device, stream);
    } catch (const Error& error) {
      said = error.what();
    }
    device.destroyStream(stream);
    return said;
  } catch (const Error& error) {
    return error.what();
  }

  void useAll(HipDevice& device, Stream stream) {
    const auto release = [&](void* memory) { device.free(memory); };
    const std::unique_ptr<void, decltype(release)> memory(device.allocate(256), release);
    std::array<float, 4> numbers = {1, 2, 3, 4};
    device.copy(memory.get(), numbers.data(), sizeof numbers, stream);
    device.fill(memory.get(), 0, 16, stream);
    const auto module = device.load(binary_);
    const auto begin = device.createEvent(), end = device.createEvent();
    begin->record(stream);
    const std::array slots = {reinterpret_cast<std::uint64_t>(memory.get())};
    for (int i = 0; i < 3; ++i) device.launch(*module, {2, 1, 1}, slots, stream);
    end->record(stream);
    device.elapsedMs(*begin, *end);
    device.synchronize(stream);
    used_ = fake_.begun;
  }

  /// Of everything(), where nothing fails.
  int calls() {
    EXPECT_EQ(everything(), "");
    return fake_.begun;
  }
  int left() const { return fake_.modules + fake_.streams + fake_.events + fake_.allocations; }
  bool isAskedOnly() const { return fake_.failed == "hipGetDevice"; }

  test::FakeHip& fake_;
  compiler::Binary binary_;
  int used_ = 0;  // calls until all the work was done, and giving back began
};

TEST_F(FailingHip, OutOfMemoryAtEveryCallIsAnErrorAndLeaksNothing) {
  const int all = calls(), used = used_;
  ASSERT_GT(all, 40);
  int errors = 0;
  for (int call = 0; call < all; ++call) {
    fake_ = test::FakeHip();
    fake_.failAt = call;
    const std::string said = everything();
    errors += said.empty() ? 0 : 1;
    EXPECT_EQ(left(), 0) << "call " << call << ", " << fake_.failed << ": " << said;
    if (call < used && !isAskedOnly()) {
      EXPECT_NE(said, "") << "call " << call << ", " << fake_.failed;
    }
    fake_ = test::FakeHip();
    EXPECT_EQ(everything(), "") << "the process goes on after call " << call;
  }
  std::printf("%d calls, %d of which failing are an error\n", all, errors);
}

TEST_F(FailingHip, AGpuThatIsLostAtEveryCallEndsInErrorsOnly) {
  constexpr int kLost = 709;
  const int all = calls(), used = used_;
  for (int call = 0; call < all; ++call) {
    fake_ = test::FakeHip();
    fake_.failAt = call, fake_.failWith = kLost, fake_.failOn = true;
    const std::string said = everything();
    if (call < used) {
      EXPECT_NE(said, "") << "call " << call << ", " << fake_.failed;
    }
  }
}

}  // namespace
}  // namespace fattn::hip
