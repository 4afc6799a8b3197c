// SPDX-License-Identifier: Apache-2.0
// Contexts, memory, streams, events and their errors, on the fake driver.
#include <thread>

#include "tests/unit/cuda/Support.h"

namespace fattn {
namespace {

using cuda::Context;
using test::errorOf;

class CudaDevice : public test::Fake {};

TEST_F(CudaDevice, DescribesItself) {
  EXPECT_EQ(gpu().description(), "Fake H200, sm_90, 132 SMs, 140.0 GiB, driver for CUDA 13.0");
  Capabilities can = gpu().capabilities();
  EXPECT_EQ(can.maxGrid, (std::array<std::int64_t, 3>{2147483647, 65535, 65535}));
  EXPECT_EQ(can.memoryBytes, std::int64_t{140} << 30);
  EXPECT_EQ(can.sharedBytes, 232448);
  EXPECT_EQ(can.cacheBytes, 62914560);
  EXPECT_EQ(can.multiprocessors, 132);
  EXPECT_TRUE(gpu().driverVersion().starts_with("CUDA 13.0")) << gpu().driverVersion();  // and the release, where this machine has a driver
  EXPECT_EQ(gpu().chip(), "nvidia:sm_90");
  EXPECT_TRUE(can.asynchronous);
  const cuda::Attributes& has = gpu().attributes();
  EXPECT_EQ(has.capability, 90);
  EXPECT_EQ(has.l2Bytes, 62914560);
  EXPECT_EQ(has.clockKHz, 1980000);
  EXPECT_EQ(has.memoryClockKHz, 3201000);
  EXPECT_EQ(has.memoryBusBits, 6144);
  EXPECT_EQ(has.sharedBytesPerMultiprocessor, 233472);
  EXPECT_TRUE(has.memoryPools);
}

TEST_F(CudaDevice, TheContextIsRetainedAtFirstUseAndOnce) {
  EXPECT_NE(gpu().description(), "");
  EXPECT_EQ(driver.retained, 0) << "looking at a GPU makes no context";
  std::thread other([&] { gpu().synchronize({}); });
  gpu().synchronize({});
  other.join();
  EXPECT_EQ(driver.retained, 1);
}

TEST_F(CudaDevice, NoCallChangesTheCurrentContext) {
  static int foreign[1];
  const auto& api = start().driver().api();
  auto useAll = [&] {
    void* memory = gpu().allocate(64);
    float number = 1;
    gpu().copy(memory, &number, 4, {});
    gpu().fill(memory, 0, 4, {});
    Stream stream = gpu().createStream();
    auto begin = gpu().createEvent(), end = gpu().createEvent();
    begin->record(stream);
    end->record(stream);
    EXPECT_EQ(gpu().elapsedMs(*begin, *end), 1.5);
    auto module = gpu().load(test::ptxBinary());
    gpu().launch(*module, {}, {}, stream);
    errorOf(
        [&] { gpu().load(compiler::Binary{.target = "nvidia:sm_90", .entry = "none", .bytes = "\177ELF1234", .args = {}, .threads = 1}); });
    gpu().synchronize(stream);
    gpu().destroyStream(stream);
    gpu().free(memory);
  };
  useAll();
  EXPECT_EQ(current(), nullptr);
  api.CtxPushCurrent(reinterpret_cast<Context>(foreign));
  useAll();
  EXPECT_EQ(current(), reinterpret_cast<Context>(foreign));
  Context popped = nullptr;
  api.CtxPopCurrent(&popped);
  EXPECT_EQ(current(), nullptr);
  // Where the primary context is current already, as in users of the CUDA runtime, nothing is pushed.
  api.CtxPushCurrent(gpu().context());
  int pushes = driver.count("cuCtxPushCurrent_v2");
  useAll();
  EXPECT_EQ(driver.count("cuCtxPushCurrent_v2"), pushes);
  EXPECT_EQ(current(), gpu().context());
  api.CtxPopCurrent(&popped);
}

TEST_F(CudaDevice, AContextThatCannotBeMade) {
  driver.results["cuDevicePrimaryCtxRetain"] = 2;
  EXPECT_EQ(errorOf([&] { gpu().synchronize({}); }),
            "out-of-memory: could not open the primary context of cuda:0 on cuda:0, Fake H200: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
  driver.results.clear();
  gpu().synchronize({});
}

TEST_F(CudaDevice, MemoryComesFromAPool) {
  EXPECT_EQ(gpu().allocate(0), nullptr);
  EXPECT_EQ(driver.retained, 0);
  void* memory = gpu().allocate(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
  EXPECT_EQ(driver.count("cuMemAllocFromPoolAsync"), 1);
  EXPECT_EQ(driver.count("cuStreamSynchronize"), 1) << "any stream may use it";
  gpu().fill(memory, 7, 1000, {});
  std::vector<unsigned char> back(1000);
  gpu().copy(back.data(), memory, 1000, {});
  EXPECT_EQ(back, std::vector<unsigned char>(1000, 7));
  gpu().copy(nullptr, nullptr, 0, {});
  gpu().fill(nullptr, 0, 0, {});
  gpu().free(memory);
  gpu().free(nullptr);
  EXPECT_EQ(driver.count("cuMemAlloc_v2"), 0);
  EXPECT_EQ(driver.count("cuMemFree_v2"), 0);
}

TEST_F(CudaDevice, MemoryOfAGpuWithoutPools) {
  driver.attributes[115] = 0;
  void* memory = gpu().allocate(1000);
  gpu().free(memory);
  EXPECT_EQ(driver.count("cuMemAlloc_v2"), 1);
  EXPECT_EQ(driver.count("cuMemFree_v2"), 1);
  EXPECT_EQ(driver.count("cuMemPoolCreate"), 0);
  EXPECT_TRUE(errorOf([&] { gpu().allocate(1 << 21); }).starts_with("out-of-memory: could not allocate 2097152 bytes"));
}

TEST_F(CudaDevice, OutOfMemorySaysHowMuch) {
  void* memory = gpu().allocate(1 << 19);
  EXPECT_EQ(errorOf([&] { gpu().allocate(1 << 20); }),
            "out-of-memory: could not allocate 1048576 bytes on cuda:0, Fake H200: CUDA_ERROR_OUT_OF_MEMORY: out of memory; 524288 of its "
            "1048576 bytes of memory are free");
  EXPECT_EQ(driver.count("cuMemPoolTrimTo"), 1);
  driver.once["cuMemAllocFromPoolAsync"] = 2;  // and there is room once the pool gave back what it kept
  void* more = gpu().allocate(16);
  EXPECT_EQ(driver.count("cuMemPoolTrimTo"), 2);
  gpu().free(more);
  gpu().free(memory);
}

TEST_F(CudaDevice, FailedCallsNameTheDriversError) {
  void* memory = gpu().allocate(16);
  auto expect = [&](const char* function, const std::string& doing, auto call) {
    driver.results[function] = 1;
    EXPECT_EQ(errorOf(call), "device-error: could not " + doing + " on cuda:0, Fake H200: CUDA_ERROR_INVALID_VALUE: invalid argument");
    driver.results.erase(function);
  };
  expect("cuMemcpyAsync", "copy 8 bytes", [&] { gpu().copy(memory, "8 bytes", 8, {}); });
  expect("cuMemsetD8Async", "fill 16 bytes", [&] { gpu().fill(memory, 0, 16, {}); });
  expect("cuStreamCreate", "create a stream", [&] { gpu().createStream(); });
  expect("cuStreamSynchronize", "wait for a stream", [&] { gpu().synchronize({}); });
  expect("cuEventCreate", "create an event", [&] { gpu().createEvent(); });
  expect("cuMemFreeAsync", "free memory", [&] { gpu().free(memory); });
  expect("cuMemAllocFromPoolAsync", "allocate 16 bytes", [&] { gpu().allocate(16); });
  auto event = gpu().createEvent();
  expect("cuEventRecord", "record an event", [&] { event->record({}); });
  expect("cuEventSynchronize", "wait for an event", [&] { event->synchronize(); });
  Stream stream = gpu().createStream();
  expect("cuStreamDestroy_v2", "destroy a stream", [&] { gpu().destroyStream(stream); });
  gpu().destroyStream(stream);
  gpu().free(memory);
}

TEST_F(CudaDevice, PoolsThatCannotBeMade) {
  for (auto [function, doing] : {std::pair{"cuStreamCreate", "create a stream for allocations"},
                                 {"cuMemPoolCreate", "create a memory pool"},
                                 {"cuMemPoolSetAttribute", "set up a memory pool"}}) {
    driver.once[function] = 1;
    EXPECT_EQ(errorOf([&] { gpu().allocate(1); }),
              "device-error: could not " + std::string(doing) + " on cuda:0, Fake H200: CUDA_ERROR_INVALID_VALUE: invalid argument");
  }
  gpu().free(gpu().allocate(1));
}

TEST_F(CudaDevice, EventsThatWereNotRecorded) {
  auto begin = gpu().createEvent(), end = gpu().createEvent();
  begin->record({});
  EXPECT_EQ(errorOf([&] { gpu().elapsedMs(*begin, *end); }),
            "invalid-argument: the time between two events was asked for before both were recorded: CUDA_ERROR_INVALID_HANDLE: invalid "
            "resource handle\n  hint: call Event::record on each first");
  struct HostEvent : Event {
    void record(Stream) override {}
    void synchronize() override {}
  } foreign;
  EXPECT_EQ(errorOf([&] { gpu().elapsedMs(*begin, foreign); }), "invalid-argument: an event of another device was given to cuda:0");
}

TEST_F(CudaDevice, ALostDeviceNamesTheKernels) {
  driver.entries = {"first", "second"};
  compiler::Binary binary = test::ptxBinary();
  binary.entry = "first";
  auto first = load(binary);
  binary.entry = "second";
  binary.threads = 64;
  binary.sharedBytes = 1024;
  auto second = load(binary);
  driver.once["cuStreamSynchronize"] = 700;
  EXPECT_TRUE(errorOf([&] {
                gpu().synchronize({});
              }).find("an illegal memory access was encountered; fattn has launched nothing on it\n") != std::string::npos);
  for (int i = 0; i < 20; ++i) gpu().launch(*first, {}, {}, {});
  gpu().launch(*second, {}, {}, {});
  void* memory = gpu().allocate(16);
  driver.results["cuStreamSynchronize"] = driver.results["cuMemFreeAsync"] = driver.results["cuModuleUnload"] =
      driver.results["cuLaunchKernel"] = 700;
  std::string tail =
      "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered; launched last, newest first: 'second' (block 64, 1024 bytes "
      "of "
      "dynamic shared memory), 'first' (block 128, 0 bytes of dynamic shared memory)\n"
      "  hint: the GPU's context must be recreated, which takes a new process: every later call in this one fails the same way; "
      "compute-sanitizer names the instruction that did it";
  EXPECT_EQ(errorOf([&] { gpu().synchronize({}); }),
            "device-error: cuda:0 is lost: could not wait for a stream on cuda:0, Fake H200: " + tail);
  EXPECT_EQ(
      errorOf([&] { gpu().launch(*second, {3, 2, 1}, {}, {}); }),
      "device-error: cuda:0 is lost: could not launch kernel 'second' (grid 3 x 2 x 1, block 64, 1024 bytes of dynamic shared memory) on "
      "cuda:0, Fake H200: " +
          tail);
  gpu().free(memory);  // as a destructor would, while the error above is on its way
  first.reset();
  second.reset();
  driver.results.clear();  // the fake's memory outlives its context
  gpu().free(memory);
  driver.modules = 0;
}

TEST_F(CudaDevice, AForkedChildIsToldWhy) {
  driver.results["cuStreamSynchronize"] = 3;
  EXPECT_EQ(errorOf([&] { gpu().synchronize({}); }),
            "device-error: could not wait for a stream on cuda:0, Fake H200: CUDA_ERROR_NOT_INITIALIZED: initialization error\n"
            "  hint: a process that was forked after its parent used CUDA cannot use it; start a new program instead");
}

}  // namespace
}  // namespace fattn
