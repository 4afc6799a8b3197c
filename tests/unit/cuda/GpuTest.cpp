// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime on a GPU. Skipped, saying why, where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "fattn/Error.h"
#include "runtime/cuda/System.h"
#include "runtime/cuda/WorkCounters.h"
#include "tests/support/CudaGraphs.h"
#include "tests/unit/cuda/GpuPtx.h"

namespace fattn {
namespace {

using cuda::CudaDevice;
using cuda::CudaModule;

std::string errorOf(auto function) {
  try {
    function();
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.what();
  }
  return "no error";
}

std::uint64_t slot(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      auto begin = std::chrono::steady_clock::now();
      gpu = &cuda::System::instance().open("cuda");
      device = gpu;
      opened = std::chrono::steady_clock::now() - begin;
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::unique_ptr<CudaModule> load(const compiler::Binary& binary) {
    return std::unique_ptr<CudaModule>(static_cast<CudaModule*>(device->load(binary).release()));
  }
  std::shared_ptr<void> allocate(std::size_t bytes) {
    return {device->allocate(bytes), [this](void* memory) { device->free(memory); }};
  }
  template <typename T>
  std::vector<T> read(const std::shared_ptr<void>& memory, std::size_t count) {
    std::vector<T> values(count);
    device->copy(values.data(), memory.get(), count * sizeof(T));
    device->synchronize();
    return values;
  }
  CudaDevice* gpu = nullptr;
  std::chrono::duration<double, std::milli> opened{};
  Device* device = nullptr;  // the same
};

// c = a + b for `count` numbers by `module`, with 64 poisoned floats behind c.
void checkAdd(Device& device, const Module& module, int count, Stream stream) {
  std::vector<float> a(static_cast<std::size_t>(count)), b(a), c(a.size() + 64);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(3 * i % 1000);
  auto place = [&](std::size_t floats) {
    return std::shared_ptr<void>(device.allocate(floats * 4), [&device](void* memory) { device.free(memory); });
  };
  auto da = place(a.size()), db = place(a.size()), dc = place(c.size());
  device.copy(da.get(), a.data(), a.size() * 4, stream);
  device.copy(db.get(), b.data(), b.size() * 4, stream);
  device.fill(dc.get(), 0xff, c.size() * 4, stream);
  device.launch(module, {(count + 127) / 128, 1, 1},
                std::vector{slot(da.get()), slot(db.get()), slot(dc.get()), static_cast<std::uint64_t>(count)}, stream);
  device.copy(c.data(), dc.get(), c.size() * 4, stream);
  device.synchronize(stream);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
  for (std::size_t i = a.size(); i < c.size(); ++i) ASSERT_EQ(std::bit_cast<std::uint32_t>(c[i]), 0xffffffffu) << i;
}

TEST_F(Gpu, DescribesItself) {
  const cuda::Attributes& has = gpu->attributes();
  std::printf("%s: %s\n  L2 %.1f MiB, %d bytes of shared memory a block, %.2f GHz, memory %.2f GHz x %d bits, memory pools: %s\n",
              device->name().c_str(), device->description().c_str(), has.l2Bytes / 1048576.0, has.sharedBytesPerBlock, has.clockKHz / 1e6,
              has.memoryClockKHz / 1e6, has.memoryBusBits, has.memoryPools ? "yes" : "no");
  EXPECT_GE(has.capability, 50);
  EXPECT_GT(has.multiprocessors, 0);
  EXPECT_GE(has.sharedBytesPerBlock, 48 << 10);
  EXPECT_GE(has.maxThreadsPerBlock, 512);
  EXPECT_GT(has.memoryBytes, std::size_t{1} << 30);
  EXPECT_GT(has.l2Bytes, 0);
}

TEST_F(Gpu, AddsVectorsFromPtxAndFromTheCubinKept) {
  compiler::Binary binary = test::addKernel();
  auto module = load(binary);
  std::printf("assembled in %.2f ms, %d registers\n%s", module->linked().milliseconds, module->resources().registers,
              module->linked().text.c_str());
  EXPECT_GT(module->linked().milliseconds, 0);
  EXPECT_GT(module->resources().registers, 0);
  EXPECT_EQ(module->linked().log.registers, module->resources().registers) << module->linked().text;
  EXPECT_EQ(module->resources().localBytes, 0);
  for (int count : {1, 127, 128, 129, 1000003}) checkAdd(*device, *module, count, {});
  binary.bytes = module->cubin();
  auto again = load(binary);
  EXPECT_EQ(again->linked().milliseconds, 0);
  Stream stream = device->createStream();
  checkAdd(*device, *again, 100000, stream);
  device->destroyStream(stream);
}

TEST_F(Gpu, PassesTwentySixArguments) {
  auto module = load(test::echoKernel());
  auto out = allocate(26 * 8);
  std::vector<std::uint64_t> slots;
  for (std::uint64_t i = 0; i < 26; ++i) slots.push_back(0x0123456789abcdefull * (2 * i + 1));
  slots[0] = slot(out.get());
  device->launch(*module, {}, slots);
  std::vector<std::uint64_t> values = read<std::uint64_t>(out, 26);
  for (std::size_t i = 0; i < 26; ++i) {
    std::uint64_t mask = i % 6 == 0 || i % 6 == 3 ? ~0ull : i % 6 == 2 || i % 6 == 4 ? 0xffffffffu : 0xff;
    EXPECT_EQ(values[i], slots[i] & mask) << i;
  }
}

TEST_F(Gpu, UsesAllTheSharedMemoryABlockCanHave) {
  for (std::int64_t bytes : {std::int64_t{512}, std::int64_t{48} << 10, std::int64_t{gpu->attributes().sharedBytesPerBlock}}) {
    auto module = load(test::sharedKernel(bytes));
    auto out = allocate(512);
    device->fill(out.get(), 0xff, 512);
    device->launch(*module, {}, std::vector{slot(out.get()), static_cast<std::uint64_t>(bytes - 512)});
    std::vector<std::int32_t> values = read<std::int32_t>(out, 128);
    for (int i = 0; i < 128; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i) << bytes;
  }
}

TEST_F(Gpu, TimesAStream) {
  Stream stream = device->createStream();
  auto begin = device->createEvent(), end = device->createEvent();
  auto memory = allocate(std::size_t{1} << 30);
  begin->record(stream);
  for (int i = 0; i < 4; ++i) device->fill(memory.get(), 0, std::size_t{1} << 30, stream);
  end->record(stream);
  double milliseconds = device->elapsedMs(*begin, *end);
  EXPECT_GT(milliseconds, 0.1);
  EXPECT_LT(milliseconds, 1000);
  device->destroyStream(stream);
  auto fresh = device->createEvent();
  EXPECT_TRUE(errorOf([&] { device->elapsedMs(*begin, *fresh); }).starts_with("invalid-argument: the time between two events"));
}

TEST_F(Gpu, LeavesTheCurrentContextAlone) {
  const auto& api = gpu->driver().api();
  auto current = [&] {
    cuda::Context context = nullptr;
    EXPECT_EQ(api.CtxGetCurrent(&context), 0);
    return context;
  };
  auto module = load(test::addKernel());
  checkAdd(*device, *module, 1000, {});
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(api.CtxPushCurrent(gpu->context()), 0);
  checkAdd(*device, *module, 1000, {});
  EXPECT_EQ(current(), gpu->context());
  cuda::Context popped = nullptr;
  EXPECT_EQ(api.CtxPopCurrent(&popped), 0);
  EXPECT_EQ(current(), nullptr);
}

TEST_F(Gpu, LaunchesFromManyThreads) {
  auto module = load(test::addKernel());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      Stream stream = device->createStream();
      for (int j = 0; j < 20; ++j) checkAdd(*device, *module, 1000 * i + 17, stream);
      device->destroyStream(stream);
    });
  for (std::thread& thread : threads) thread.join();
}

// A launch that waited or allocated would break the capture.
TEST_F(Gpu, ALaunchCanBeCapturedIntoAGraph) {
  test::CudaGraphs graphs;
  if (!graphs.known()) GTEST_SKIP() << "this driver is too old for graphs";
  auto module = load(test::addKernel());
  auto a = allocate(4096), c = allocate(4096);
  std::vector<float> ones(1024, 1);
  device->copy(a.get(), ones.data(), 4096);
  device->fill(c.get(), 0, 4096);
  device->synchronize();
  const std::shared_ptr<void> held = test::heldStream(*device);
  const Stream stream{.native = held.get()};
  cuda::ContextScope scope(gpu->driver(), gpu->context());
  const std::shared_ptr<void> graph = graphs.captured(stream, [&] {
    for (int i = 0; i < 3; ++i)  // c += a, three times; the first launch of this module is among them
      device->launch(*module, {8, 1, 1}, std::vector{slot(a.get()), slot(c.get()), slot(c.get()), std::uint64_t{1024}}, stream);
  });
  for (float value : read<float>(c, 1024)) ASSERT_EQ(value, 0) << "captured, not run";
  ASSERT_EQ(graphs.launch(graph, stream), 0);
  ASSERT_EQ(graphs.launch(graph, stream), 0);
  device->synchronize(stream);
  for (float value : read<float>(c, 1024)) ASSERT_EQ(value, 6);
}

// What the driver has to do for it: tell streams apart, tell that one is captured, and call when a graph goes.
TEST_F(Gpu, StreamsAndCapturedLaunchesHaveCountersOfTheirOwn) {
  test::CudaGraphs graphs;
  if (!graphs.known()) GTEST_SKIP() << "this driver is too old for graphs";
  cuda::ContextScope scope(gpu->driver(), gpu->context());
  cuda::WorkCounters counters(gpu->driver());
  counters.make();
  const auto of = [&](void* stream) { return counters.of(static_cast<cuda::StreamHandle>(stream)); };
  const std::shared_ptr<void> one = test::heldStream(*device), two = test::heldStream(*device);
  std::set<cuda::Address> seen = {0, of(nullptr), of(one.get()), of(two.get())};
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(of(one.get()), of(one.get()));
  cuda::Address last = 0;
  const auto capture = [&] {
    for (std::uint32_t i = 0; i < cuda::WorkCounters::kCaptured; ++i) seen.insert(last = of(one.get()));
    EXPECT_EQ(of(one.get()), 0u) << "there are no more";
  };
  for (int round = 0; round < 2; ++round) {
    const std::shared_ptr<void> graph = graphs.captured({.native = one.get()}, capture);
    EXPECT_NE(last, 0u) << "round " << round;
  }
  EXPECT_EQ(seen.size(), 4u + cuda::WorkCounters::kCaptured);
  counters.free();
}

TEST_F(Gpu, ReadsLocalMemoryFromTheLog) {
  compiler::Binary binary = test::gpuKernel(".param .u64 out, .param .u32 n", R"(
  .local .align 16 .b8 depot[256];
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [n];
  mov.u64 %rd2, depot;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.local.u32 [%rd4], %r1;
  ld.local.u32 %r2, [%rd4+4];
  st.global.u32 [%rd1], %r2;
)");
  binary.args = {{"out", true, DType::I32}, {"n", false, DType::I32}};
  auto module = load(binary);
  std::printf("%s", module->linked().text.c_str());
  EXPECT_GE(module->resources().localBytes, 256);
  EXPECT_GE(std::max(module->linked().log.stackBytes, module->linked().log.localBytes), 256) << module->linked().text;
}

TEST_F(Gpu, InvalidPtxShowsTheLog) {
  compiler::Binary binary = test::gpuKernel("", "  no_such_instruction %r1;\n");
  std::string message = errorOf([&] { load(binary); });
  std::printf("%s\n", message.c_str());
  EXPECT_TRUE(message.starts_with("compile-error: the NVIDIA driver could not assemble kernel 'kernel' for cuda:0, ")) << message;
  EXPECT_NE(message.find("CUDA_ERROR_INVALID_PTX"), std::string::npos) << message;
  EXPECT_NE(message.find("no_such_instruction"), std::string::npos) << message;
}

TEST_F(Gpu, PtxOfTheFuture) {
  compiler::Binary binary = test::emptyKernel();
  binary.bytes.replace(binary.bytes.find("7.0"), 3, "99.0");
  std::string message = errorOf([&] { load(binary); });
  std::printf("%s\n", message.c_str());
  EXPECT_TRUE(message.starts_with("unsupported: the NVIDIA driver is too old for kernel 'kernel': its PTX is of version 99.0, "))
      << message;
  EXPECT_NE(message.find("this driver is for CUDA " + cuda::cudaVersion(gpu->driver().version())), std::string::npos) << message;
}

TEST_F(Gpu, PtxAndCubinsForOtherChips) {
  compiler::Binary binary = test::emptyKernel();
  binary.target = "nvidia:sm_999";
  EXPECT_TRUE(errorOf([&] { load(binary); }).starts_with("unsupported: code for target 'nvidia:sm_999' does not run on cuda:0"))
      << "by name";
  binary = test::emptyKernel();  // and where the name is wrong, by the driver
  binary.bytes.replace(binary.bytes.find("7.0"), 3, "8.7");
  binary.bytes.replace(binary.bytes.find("sm_80"), 5, "sm_120");
  if (gpu->attributes().capability >= 120 || gpu->driver().version() < 12080) GTEST_SKIP() << "PTX for sm_120 would run or be unknown";
  std::string message = errorOf([&] { load(binary); });
  std::printf("%s\n", message.c_str());
  EXPECT_TRUE(message.starts_with("unsupported: kernel 'kernel' is PTX for sm_120, which does not run on cuda:0, ")) << message;
}

TEST_F(Gpu, OutOfMemorySaysHowMuch) {
  std::size_t bytes = gpu->attributes().memoryBytes + (std::size_t{1} << 30);
  std::string message = errorOf([&] { device->allocate(bytes); });
  std::printf("%s\n", message.c_str());
  EXPECT_TRUE(message.starts_with("out-of-memory: could not allocate " + std::to_string(bytes) + " bytes on cuda:0, ")) << message;
  EXPECT_NE(message.find(" bytes of memory are free"), std::string::npos) << message;
  auto small = allocate(1 << 20);
  device->fill(small.get(), 0, 1 << 20);
  device->synchronize();
}

// In processes of their own, which lose their context.
class GpuDeathTest : public Gpu {
 protected:
  [[noreturn]] void lose(const std::string& body) {
    auto keep = allocate(16);
    auto good = load(test::addKernel());
    auto bad = load(test::gpuKernel("", body, 32));
    checkAdd(*device, *good, 100, {});
    device->launch(*bad, {2, 1, 1}, {});
    std::string first = errorOf([&] { device->synchronize(); }),
                second = errorOf([&] { device->launch(*good, {1, 1, 1}, std::vector<std::uint64_t>(4)); });
    good.reset();
    bad.reset();
    keep.reset();
    std::fprintf(stderr, "first: %s\nsecond: %s\n", first.c_str(), second.c_str());
    std::exit(0);
  }
};

TEST_F(GpuDeathTest, AnIllegalAddress) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      lose("  .reg .b64 %a;\n  mov.u64 %a, 16;\n  st.global.u64 [%a], %a;\n"), testing::ExitedWithCode(0),
      "first: device-error: cuda:0 is lost: could not wait for a stream on cuda:0, .*CUDA_ERROR_ILLEGAL_ADDRESS: .*; launched last, newest "
      "first: 'kernel' \\(block 32, 0 bytes of dynamic shared memory\\), 'kernel' \\(block 128, .*\n"
      "  hint: the GPU's context must be recreated, .*\n"
      "second: device-error: cuda:0 is lost: could not launch kernel 'kernel' \\(grid 1 x 1 x 1, block 128, .*CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(GpuDeathTest, ATrap) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(lose("  trap;\n"), testing::ExitedWithCode(0), "first: device-error: cuda:0 is lost: .*CUDA_ERROR_LAUNCH_FAILED: ");
}

struct Nanoseconds {
  double median, best;
};

// What the host spends on one call of each of `calls`: 20 batches of 500, in turns. A batch fits the driver's queue, so that the host
// does not wait for the GPU.
std::vector<Nanoseconds> measure(Device& device, Stream stream, const std::vector<std::function<void()>>& calls) {
  std::vector<std::vector<double>> times(calls.size());
  for (int batch = 0; batch < 21; ++batch)
    for (std::size_t call = 0; call < calls.size(); ++call) {
      device.synchronize(stream);
      auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < 500; ++i) calls[call]();
      std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
      if (batch > 0) times[call].push_back(time.count() / 500);
    }
  device.synchronize(stream);
  std::vector<Nanoseconds> result;
  for (auto& all : times) {
    std::ranges::sort(all);
    result.push_back({(all[9] + all[10]) / 2, all[0]});
  }
  return result;
}

// 10,000 launches of each kind. Nearly all of the time is the driver's own, which differs between machines; ours on top is small anywhere.
TEST_F(Gpu, ALaunchTakesLessThanThreeMicroseconds) {
  auto none = load(test::emptyKernel()), many = load(test::echoKernel(/*empty=*/true));
  std::vector<std::uint64_t> slots(26, 1);
  Stream stream = device->createStream();
  auto driverAlone = [&] {
    gpu->driver().api().LaunchKernel(none->function(), 1, 1, 1, 128, 1, 1, 0, static_cast<cuda::StreamHandle>(stream.native), nullptr,
                                     nullptr);
  };
  auto noArguments = [&] { device->launch(*none, {1, 1, 1}, {}, stream); };
  auto allArguments = [&] { device->launch(*many, {1, 1, 1}, slots, stream); };
  std::vector<Nanoseconds> outside = measure(*device, stream, {noArguments, allArguments}), inside;
  {
    cuda::ContextScope scope(gpu->driver(), gpu->context());
    inside = measure(*device, stream, {driverAlone, noArguments, allArguments});
  }
  device->destroyStream(stream);
  auto print = [](const char* what, Nanoseconds time) {
    std::printf("%-55s median %5.0f ns, best %5.0f ns\n", what, time.median, time.best);
  };
  print("cuLaunchKernel alone, no arguments", inside[0]);
  print("launch, no arguments", inside[1]);
  print("launch, 26 arguments", inside[2]);
  print("launch, no arguments, another context current", outside[0]);
  print("launch, 26 arguments, another context current", outside[1]);
  double limit = std::max(3000.0, inside[0].best + 300);
  for (const auto& times : {outside[0], outside[1], inside[1], inside[2]}) EXPECT_LT(times.best, limit);
}

// The cold start of a process that launches one kernel; the first of these figures holds only where this test runs alone.
TEST_F(Gpu, StartingTakesThisLong) {
  auto begin = std::chrono::steady_clock::now();
  gpu->context();
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  std::printf("driver %.1f ms, primary context %.1f ms\n", opened.count(), time.count());
  EXPECT_LT(time.count(), 5000);
}

TEST_F(Gpu, AssemblingTakesThisLong) {
  for (int lines : {10, 1000, 10000}) {
    auto module = load(test::longKernel(lines));
    auto begin = std::chrono::steady_clock::now();
    compiler::Binary binary = test::longKernel(lines);
    binary.bytes = module->cubin();
    auto again = load(binary);
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    std::printf("%d instructions: %.1f ms in the assembler, %zu bytes of cubin, which loads in %.2f ms\n", lines,
                module->linked().milliseconds, module->cubin().size(), time.count());
    EXPECT_GT(module->linked().milliseconds, 0);
  }
}

}  // namespace
}  // namespace fattn
