// SPDX-License-Identifier: Apache-2.0
// What a launch on the host costs before the kernel does anything: `runtime-bench`, figures in docs/performance.md.
#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "fattn/Host.h"
#include "kernels/attention/AttentionLaunch.h"
#include "kernels/attention/KernelCache.h"
#include "tests/unit/kernels/AttentionArgs.h"
#include "tests/unit/runtime/TestObject.h"

namespace {

using namespace fattn;

compiler::Binary emptyKernel(const AttentionConfig& config) {
  return test::forAttention(test::hostBinary("define void @kernel(ptr %a, ptr %g, ptr %s) {\n ret void\n}", 0), config);
}

kernels::KernelCache& cache() {
  static kernels::KernelCache cache(emptyKernel);
  return cache;
}

void secondCompile(benchmark::State& state) {
  AttentionConfig config{.head_dim = 64};
  cache().get(config);
  for (auto _ : state) benchmark::DoNotOptimize(cache().get(config));
}
BENCHMARK(secondCompile)->ThreadRange(1, 2);

// A whole Kernel::launch of `heads` empty programs, back to back.
void launch(benchmark::State& state) {
  Kernel kernel = cache().get({.dtype = DType::F32, .head_dim = 8});
  constexpr std::int64_t kMostHeads = 4096;
  alignas(64) static float memory[2 * kMostHeads * 8 * 8];
  std::int64_t heads = state.range(0);
  TensorView view(memory, DType::F32, {1, heads, 8, 8}), out(memory + kMostHeads * 8 * 8, DType::F32, {1, heads, 8, 8});
  AttentionArgs args{.q = view, .k = view, .v = view, .o = out};
  for (auto _ : state) kernel.launch({}, args);
}
BENCHMARK(launch)->Arg(1)->Arg(16)->Arg(256)->Arg(4096);

// The same of a kernel with so many tuned shapes, all at hand, the last of which it is. The difference from `launch` is what choosing
// costs.
void launchWithVariants(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  std::vector<kernels::TunedShape> shapes;
  for (std::int64_t i = count - 1; i >= 0; --i)
    shapes.push_back({.bucket = kernels::ShapeBucket::of({1, std::int64_t{8} << i % 12, std::int64_t{8} << i / 12}),
                      .name = "",
                      .tile = {.block_m = 64, .block_n = 64}});
  kernels::KernelCache tuned(emptyKernel, [&](const AttentionConfig&) { return kernels::TileChoice(std::nullopt, shapes); });
  Kernel kernel = tuned.get({.dtype = DType::F32, .head_dim = 8, .target = "host"});
  alignas(64) static float memory[2 * 8 * 8];
  TensorView view(memory, DType::F32, {1, 1, 8, 8}), out(memory + 8 * 8, DType::F32, {1, 1, 8, 8});
  AttentionArgs args{.q = view, .k = view, .v = view, .o = out};
  for (auto _ : state) kernel.launch({}, args);
}
BENCHMARK(launchWithVariants)->Arg(1)->Arg(6)->Arg(24)->Arg(100);

// Programs that take 20 microseconds each, one for each thread; the workers fall asleep in between. The time above 20 microseconds
// is the price of waking them.
void wakeAndRun(benchmark::State& state) {
  Device& device = openDevice("host");
  auto module = device.load(test::hostBinary(R"(
define void @kernel(ptr %args, ptr %grid, ptr %scratch) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  store volatile i64 %i, ptr %scratch
  %v = load volatile i64, ptr %scratch
  %n = add i64 %v, 1
  %more = icmp ult i64 %n, 12000
  br i1 %more, label %loop, label %done
done:
  ret void
})",
                                             0, 64));
  for (auto _ : state) {
    state.PauseTiming();
    std::this_thread::sleep_for(std::chrono::microseconds(state.range(0)));
    state.ResumeTiming();
    device.launch(*module, {host::numThreads(), 1, 1}, {});
  }
}
BENCHMARK(wakeAndRun)->Arg(0)->Arg(1000)->Iterations(2000)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
