// SPDX-License-Identifier: Apache-2.0
// A GPU that fails at every call in turn, is lost at every call in turn, has its stream captured, or was reset: on the fake driver.
#include <set>
#include <vector>

#include "tests/unit/cuda/Support.h"

namespace fattn {
namespace {

class FailingDevice : public test::Fake {
 protected:
  // All that an engine does with a GPU. Gives the error's text, or "".
  std::string everything() {
    const std::string said = test::errorOf([&] {
      cuda::CudaDevice& device = gpu();
      device.prepare();
      Stream stream = device.createStream();
      std::string failure;
      try {
        useAll(device, stream);
      } catch (const Error& error) {
        failure = error.what();
      }
      device.destroyStream(stream);
      if (!failure.empty()) throw Error(ErrorCode::DeviceError, failure);
    });
    system.reset();
    return said == "no error" ? "" : said;
  }

  void useAll(cuda::CudaDevice& device, Stream stream) {
    const auto release = [&](void* memory) { device.free(memory); };
    const std::unique_ptr<void, decltype(release)> memory(device.allocate(256), release);
    float numbers[4] = {1, 2, 3, 4};
    device.copy(memory.get(), numbers, sizeof numbers, stream);
    device.fill(memory.get(), 0, 16, stream);
    auto module = device.load(test::ptxBinary(1));
    auto begin = device.createEvent(), end = device.createEvent();
    begin->record(stream);
    for (int i = 0; i < 3; ++i) device.launch(*module, {2, 1, 1}, std::vector{reinterpret_cast<std::uint64_t>(memory.get())}, stream);
    end->record(stream);
    device.elapsedMs(*begin, *end);
    device.synchronize(stream);
    used_ = driver.begun;
  }

  int used_ = 0;  // calls until all the work was done, and giving back began

  int callsOfAll() {
    EXPECT_EQ(everything(), "");  // what a process does once is done
    driver.reset();
    EXPECT_EQ(everything(), "");
    const int calls = driver.begun;
    driver.reset();
    return calls;
  }
  bool isCleaningUp() const {
    for (const char* part : {"Destroy", "Unload", "Free", "Release", "PopCurrent"})
      if (driver.failed.find(part) != std::string::npos) return true;
    return false;
  }
  int left() const {
    return driver.modules + driver.streams + driver.events + driver.pools + driver.links + static_cast<int>(driver.memory.size()) +
           driver.retained;
  }
};

TEST_F(FailingDevice, OutOfMemoryAtEveryCallIsAnErrorAndLeaksNothing) {
  const int calls = callsOfAll(), used = used_;
  ASSERT_GT(calls, 60);
  int errors = 0;
  for (int call = 0; call < calls; ++call) {
    driver.reset();
    driver.failAt = call;
    const std::string said = everything();
    errors += said.empty() ? 0 : 1;
    if (call < used && !isCleaningUp()) {  // what cannot be destroyed stays
      EXPECT_EQ(left(), 0) << "call " << call << ", " << driver.failed << ": " << said;
    }
    driver.reset();
    EXPECT_EQ(everything(), "") << "the process goes on after call " << call;
  }
  std::printf("%d calls, %d of which failing are an error\n", calls, errors);
  driver.reset();
}

TEST_F(FailingDevice, ADeviceThatIsLostAtEveryCallEndsInErrorsOnly) {
  constexpr int kLost = 719;
  const int calls = callsOfAll(), used = used_;
  for (int call = 0; call < calls; ++call) {
    driver.reset();
    driver.failAt = call;
    driver.failWith = kLost;
    driver.failOn = true;
    const std::string said = everything();
    if (call < used && !isCleaningUp() && driver.failed != "cuDeviceGetAttribute") {
      EXPECT_NE(said, "") << "call " << call << ", " << driver.failed;
    }
  }
  driver.reset();
}

// While a stream is captured into a graph, whatever waits or allocates is forbidden.
TEST_F(FailingDevice, ALaunchIntoACapturedStreamCallsNothingThatIsForbidden) {
  cuda::CudaDevice& device = gpu();
  auto module = device.load(test::ptxBinary());
  Stream stream = device.createStream();
  constexpr int kForbidden = 900;
  for (const char* function : {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuStreamSynchronize",
                               "cuEventSynchronize", "cuModuleLoadDataEx", "cuModuleUnload", "cuFuncLoad", "cuFuncSetAttribute",
                               "cuFuncGetAttribute", "cuLinkCreate_v2", "cuStreamCreate"})
    driver.results[function] = kForbidden;
  for (int i = 0; i < 10; ++i) device.launch(*module, {1, 1, 1}, {}, stream);
  EXPECT_EQ(driver.launches.size(), 10u);
  EXPECT_TRUE(test::errorOf([&] { device.synchronize(stream); }).starts_with("device-error: ")) << "what is forbidden is an error";
  driver.results.clear();
  module.reset();
  device.destroyStream(stream);
}

TEST_F(FailingDevice, ALaunchAfterAResetIsAnErrorThatSaysSo) {
  cuda::CudaDevice& device = gpu();
  auto module = device.load(test::ptxBinary());
  constexpr int kContextIsDestroyed = 709;
  driver.results["cuLaunchKernel"] = kContextIsDestroyed;
  const std::string said = test::errorOf([&] { device.launch(*module, {1, 1, 1}, {}, {}); });
  EXPECT_TRUE(said.starts_with("device-error: cuda:0 is lost: could not launch kernel 'kernel'")) << said;
  EXPECT_NE(said.find("the GPU's context must be recreated, which takes a new process"), std::string::npos) << said;
  driver.results.clear();
}

}  // namespace
}  // namespace fattn
