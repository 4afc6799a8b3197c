// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <vector>

#include "fattn/Device.h"
#include "fattn/Error.h"
#include "fattn/Host.h"
#include "runtime/base/HostLevel.h"
#include "runtime/host/DevicePrint.h"
#include "tests/unit/runtime/TestObject.h"

namespace fattn {
namespace {

using test::countingBinary;
using test::hostBinary;

std::uint64_t slot(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

template <typename Function>
std::string messageOf(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// The number of host threads is process-wide; a test that changes it puts it back.
struct Threads {
  explicit Threads(int threads) { host::setNumThreads(threads); }
  ~Threads() { host::setNumThreads(before); }
  int before = host::numThreads();
};

TEST(HostDevice, EveryProgramRunsOnceWithItsId) {
  Device& device = openDevice("host");
  auto module = device.load(countingBinary());
  for (int threads : {1, 2, 7}) {
    Threads scope(threads);
    for (Grid grid : {Grid{1, 1, 1}, Grid{5, 1, 1}, Grid{3, 4, 5}, Grid{1, 1, 1000}, Grid{129, 7, 3}}) {
      std::vector<std::int32_t> counts(static_cast<std::size_t>(grid.x * grid.y * grid.z));
      for (int round = 0; round < 3; ++round) device.launch(*module, grid, std::vector{slot(counts.data())});
      for (std::int32_t count : counts) ASSERT_EQ(count, 3);
    }
  }
}

// Each program fills its scratch with its id and reads it back, so that sharing or a short arena shows.
TEST(HostDevice, ScratchIsPrivateAlignedAndLargeEnough) {
  constexpr std::int64_t kBytes = 100'000;
  Device& device = openDevice("host");
  auto module = device.load(hostBinary(R"(
define void @kernel(ptr %args, ptr %grid, ptr %scratch) {
entry:
  %data = load ptr, ptr %args
  %x = load i32, ptr %grid
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %i1, %fill ]
  %p = getelementptr i32, ptr %scratch, i64 %i
  store volatile i32 %x, ptr %p
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, 25000
  br i1 %more, label %fill, label %sum
sum:
  %j = phi i64 [ 0, %fill ], [ %j1, %sum ]
  %s = phi i32 [ 0, %fill ], [ %s1, %sum ]
  %q = getelementptr i32, ptr %scratch, i64 %j
  %v = load volatile i32, ptr %q
  %same = icmp eq i32 %v, %x
  %one = zext i1 %same to i32
  %s1 = add i32 %s, %one
  %j1 = add i64 %j, 1
  %again = icmp ult i64 %j1, 25000
  br i1 %again, label %sum, label %done
done:
  %address = ptrtoint ptr %scratch to i64
  %low = and i64 %address, 63
  %low32 = trunc i64 %low to i32
  %result = add i32 %s1, %low32
  %o = getelementptr i32, ptr %data, i32 %x
  store i32 %result, ptr %o
  ret void
})",
                                       1, kBytes));
  Threads scope(4);
  std::vector<std::int32_t> results(300);
  device.launch(*module, {300, 1, 1}, std::vector{slot(results.data())});
  for (std::int32_t result : results) ASSERT_EQ(result, 25000);
}

TEST(HostDevice, LaunchesFromManyThreadsAtOnce) {
  Device& device = openDevice("host");
  auto module = device.load(countingBinary());
  Threads scope(4);
  std::vector<std::vector<std::int32_t>> counts(40, std::vector<std::int32_t>(500));
  std::vector<std::thread> callers;
  callers.reserve(counts.size());
  for (auto& mine : counts)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) device.launch(*module, {50, 10, 1}, std::vector{slot(mine.data())});
    });
  for (std::thread& caller : callers) caller.join();
  for (const auto& mine : counts)
    for (std::int32_t count : mine) ASSERT_EQ(count, 50);
}

TEST(HostDevice, MathAndMemoryFunctionsResolve) {
  auto module = openDevice("host").load(hostBinary(R"(
declare float @expf(float)
declare double @pow(double, double)
declare ptr @memset(ptr, i32, i64)
define void @kernel(ptr %args, ptr %grid, ptr %scratch) {
  %data = load ptr, ptr %args
  %ignored = call ptr @memset(ptr %data, i32 0, i64 16)
  %e = call float @expf(float 1.0)
  store float %e, ptr %data
  %p = call double @pow(double 2.0, double 0.5)
  %second = getelementptr i8, ptr %data, i64 8
  store double %p, ptr %second
  ret void
})",
                                                   1));
  struct {
    float e, unused;
    double root;
  } result{-1, -1, -1};
  openDevice("host").launch(*module, {}, std::vector{slot(&result)});
  EXPECT_FLOAT_EQ(result.e, std::exp(1.0f));
  EXPECT_EQ(result.unused, 0);
  EXPECT_DOUBLE_EQ(result.root, std::sqrt(2.0));
}

// Without a processor feature string these conversions become library calls.
TEST(HostDevice, HalfPrecisionHelpersRoundToNearestEven) {
  auto module = openDevice("host").load(hostBinary(R"(
declare bfloat @__truncsfbf2(float)
declare bfloat @__truncdfbf2(double)
declare half @__truncsfhf2(float)
declare float @__extendhfsf2(half)
define void @kernel(ptr %args, ptr %grid, ptr %scratch) {
  %data = load ptr, ptr %args
  %f = load float, ptr %data
  %d = fpext float %f to double
  %d1 = fadd double %d, 1.0e-12
  %b = call bfloat @__truncsfbf2(float %f)
  %p1 = getelementptr i8, ptr %data, i64 4
  store bfloat %b, ptr %p1
  %b1 = call bfloat @__truncdfbf2(double %d1)
  %p2 = getelementptr i8, ptr %data, i64 6
  store bfloat %b1, ptr %p2
  %h = call half @__truncsfhf2(float %f)
  %e = call float @__extendhfsf2(half %h)
  %p3 = getelementptr i8, ptr %data, i64 8
  store float %e, ptr %p3
  ret void
})",
                                                   1));
  struct {
    float input;
    std::uint16_t bf16, bf16FromDouble;
    float throughF16;
  } data{};
  auto run = [&](float input) {
    data.input = input;
    openDevice("host").launch(*module, {}, std::vector{slot(&data)});
  };
  run(1.00390625f);  // halfway between 1 and the next bfloat16: to even; the double lies just above halfway
  EXPECT_EQ(data.bf16, 0x3f80);
  EXPECT_EQ(data.bf16FromDouble, 0x3f81);
  run(0.1f);
  EXPECT_EQ(data.bf16, 0x3dcd);
  EXPECT_FLOAT_EQ(data.throughF16, 0.0999755859375f);
  run(1e30f);
  EXPECT_TRUE(std::isinf(data.throughF16));
  run(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(data.bf16) << 16)));
}

TEST(HostDevice, AnUnknownSymbolIsNamed) {
  const char* ir =
      "declare void @system_call_me()\ndefine void @kernel(ptr %a, ptr %g, ptr %s) {\n call void @system_call_me()\n ret void\n}";
  EXPECT_EQ(messageOf([&] { openDevice("host").load(hostBinary(ir, 0)); }), "host object: Symbols not found: [ system_call_me ]");
}

TEST(HostDevice, AFailedLoadDoesNotHurtTheNextOne) {
  compiler::Binary broken = countingBinary();
  broken.bytes.resize(broken.bytes.size() / 2);
  EXPECT_NE(messageOf([&] { openDevice("host").load(broken); }).find("host object: "), std::string::npos);
  broken.bytes.clear();
  EXPECT_NE(messageOf([&] { openDevice("host").load(broken); }).find("host object: "), std::string::npos);
  compiler::Binary renamed = countingBinary();
  renamed.entry = "other";
  EXPECT_NE(messageOf([&] { openDevice("host").load(renamed); }).find("other"), std::string::npos);
  std::int32_t count = 0;
  auto module = openDevice("host").load(countingBinary());
  openDevice("host").launch(*module, {}, std::vector{slot(&count)});
  EXPECT_EQ(count, 1);
}

TEST(HostDevice, RefusesWhatItCannotLaunch) {
  Device& device = openDevice("host");
  auto module = device.load(countingBinary());
  EXPECT_EQ(messageOf([&] { device.launch(*module, {}, {}); }), "a launch gives 0 arguments to a kernel that takes 1");
  EXPECT_EQ(messageOf([&] { device.launch(*module, {-1, 1, 1}, std::vector{slot(nullptr)}); }),
            "the grid is -1 x 1 x 1; legal extents are 0 to 2147483647, 2^63 programs in all");
  EXPECT_EQ(messageOf([&] { device.launch(*module, {INT32_MAX, INT32_MAX, INT32_MAX}, std::vector{slot(nullptr)}); }),
            "the grid is 2147483647 x 2147483647 x 2147483647; legal extents are 0 to 2147483647, 2^63 programs in all");
  EXPECT_EQ(messageOf([&] { device.launch(*module, {}, std::vector{slot(nullptr)}, Stream{&device}); }),
            "the host has no streams, but a launch names one\n  hint: pass fattn::Stream{}");
  compiler::Binary foreign = countingBinary();
  foreign.target = "amd:gfx942";
  EXPECT_EQ(messageOf([&] { device.load(foreign); }),
            "the host device cannot load code for target 'amd:gfx942'\n  hint: compile it for 'host'");
}

TEST(HostDevice, AnAllocationThatFailsSaysHowMuch) {
  EXPECT_EQ(messageOf([] { openDevice("host").allocate(SIZE_MAX); }), "the host has no 18446744073709551615 bytes of memory left");
}

TEST(HostDevice, EventsMeasureTime) {
  Device& device = openDevice("host");
  auto begin = device.createEvent(), end = device.createEvent();
  begin->record({});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  end->record({});
  EXPECT_GE(device.elapsedMs(*begin, *end), 5);
}

TEST(HostDevice, TargetsByName) {
  EXPECT_EQ(openDevice("host").name(), "host");
  EXPECT_EQ(&openDevice(""), listDevices().front());
  EXPECT_EQ(&openDevice("host:sse2"), &openDevice("host"));
  std::string message = messageOf([] { openDevice("vulkan:0"); });
  EXPECT_TRUE(message.starts_with("there is no device for target 'vulkan:0'\n  hint: devices of this machine: host")) << message;
  message = messageOf([] { openDevice("host:mmx"); });
  EXPECT_TRUE(message.starts_with("this processor does not run code for target 'host:mmx'\n  hint: targets it runs: host, host:sse2"))
      << message;
  Threads scope(1);
  EXPECT_TRUE(openDevice("host").description().ends_with(", 1 thread"));
}

// It would die of SIGILL at the launch.
TEST(HostDevice, CodeThatThisProcessorLacksInstructionsForIsNotLoaded) {
  compiler::Binary binary = countingBinary();
  for (const std::string& target : host::runnableTargets()) {
    binary.target = target;
    EXPECT_NE(openDevice("host").load(binary), nullptr) << target;
  }
  std::vector<std::string> lacking = {"host:avx1024"};  // stands for what a later version of this compiler may write
  for (const std::string& target : host::levelTargets())
    if (!host::isRunnable(target)) lacking.push_back(target);
  for (const std::string& target : lacking) {
    binary.target = target;
    try {
      openDevice("host").load(binary);
      FAIL() << target << " was loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_EQ(error.what(),
                "this processor cannot load code for target '" + target +
                    "', whose instructions it lacks\n  hint: compile it for one of the targets it runs: " + host::runnableTargetsText());
    }
  }
}

TEST(HostDevice, ThreadCountOutOfRange) {
  EXPECT_EQ(messageOf([] { host::setNumThreads(0); }), "number of host threads is 0; legal values are 1 to 1024");
  EXPECT_EQ(messageOf([] { host::setNumThreads(1025); }), "number of host threads is 1025; legal values are 1 to 1024");
}

TEST(HostDevice, WorksInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts threads";
#endif
  Device& device = openDevice("host");
  auto module = device.load(countingBinary());
  Threads scope(4);
  std::vector<std::int32_t> counts(1000);
  device.launch(*module, {1000, 1, 1}, std::vector{slot(counts.data())});
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    device.launch(*module, {1000, 1, 1}, std::vector{slot(counts.data())});
    for (std::int32_t count : counts)
      if (count != 2) _exit(1);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  device.launch(*module, {1000, 1, 1}, std::vector{slot(counts.data())});
  for (std::int32_t count : counts) ASSERT_EQ(count, 2);
}

TEST(HostDevice, BadThreadVariableIsAnError) {
  // In a process of its own, as the device reads the variable once.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("FATTN_NUM_THREADS", "two", 1);
        std::string message = messageOf([] { openDevice("host"); });
        std::fprintf(stderr, "%s\n", message.c_str());
        _exit(0);
      },
      testing::ExitedWithCode(0), "FATTN_NUM_THREADS is 'two'; legal values are 1 to 1024");
}

TEST(DevicePrint, WritesShapesAndValues) {
  testing::internal::CaptureStdout();
  const std::int32_t grid[6] = {1, 2, 3, 4, 5, 6};
  const std::int64_t shape[2] = {2, 3};
  const float values[6] = {1, 2.5f, -3, 4, 1e30f, NAN};
  fattn_device_print(grid, "s", static_cast<int>(DType::F32), 2, shape, values);
  const std::uint16_t half[3] = {0x3c00, 0xc100, 0x7c00}, brain[2] = {0x3f80, 0xc2c8};
  const std::int64_t three = 3, two = 2;
  fattn_device_print(grid, "h", static_cast<int>(DType::F16), 1, &three, half);
  fattn_device_print(grid, "b", static_cast<int>(DType::BF16), 1, &two, brain);
  const std::uint8_t e4m3[3] = {0x38, 0x7e, 0x7f}, e5m2[2] = {0x3c, 0xfc}, flags[2] = {0, 1};
  fattn_device_print(grid, "e4m3", static_cast<int>(DType::F8E4M3), 1, &three, e4m3);
  fattn_device_print(grid, "e5m2", static_cast<int>(DType::F8E5M2), 1, &two, e5m2);
  fattn_device_print(grid, "mask", static_cast<int>(DType::I1), 1, &two, flags);
  const std::int64_t big = -5'000'000'000;
  fattn_device_print(grid, "n", static_cast<int>(DType::I64), 0, nullptr, &big);
  fattn_device_print(grid, "here", -1, 0, nullptr, nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "[program 1,2,3] s: f32 [2, 3]\n  1 2.5 -3\n  4 1e+30 nan\n"
            "[program 1,2,3] h: f16 [3] 1 -2.5 inf\n"
            "[program 1,2,3] b: bf16 [2] 1 -100\n"
            "[program 1,2,3] e4m3: f8e4m3 [3] 1 448 nan\n"
            "[program 1,2,3] e5m2: f8e5m2 [2] 1 -inf\n"
            "[program 1,2,3] mask: i1 [2] false true\n"
            "[program 1,2,3] n: i64 -5000000000\n"
            "[program 1,2,3] here\n");
}

}  // namespace
}  // namespace fattn
