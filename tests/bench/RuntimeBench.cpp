// SPDX-License-Identifier: Apache-2.0
// What a launch on the host costs before the kernel does anything: `runtime-bench`, figures in docs/performance.md.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "fattn/Host.h"
#include "fattn/Kernel.h"
#include "fattn/dsl/Dsl.h"
#include "kernels/attention/KernelCache.h"
#include "tests/unit/kernels/StandIn.h"
#include "tests/unit/runtime/TestObject.h"

namespace {

using namespace fattn;

const KernelTemplate& emptyKernel() {
  static const auto* made = new KernelTemplate(test::standIn([](const ForwardArguments&, const TileConfig&) {}));
  return *made;
}

kernels::KernelCache& cache() {
  static kernels::KernelCache cache(emptyKernel());
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

// The same of a kernel with so many tuned shapes, all at hand, of which it is one. The difference from `launch` is what choosing costs.
void launchWithVariants(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const KernelTemplate what = test::standIn([](const ForwardArguments&, const TileConfig&) {});
  AttentionConfig config{.dtype = DType::F32, .head_dim = 8, .target = "host"};
  for (std::int64_t i = 0; i < count; ++i) {
    config.shape = ShapeHint{.batch = 1, .heads = 1, .seq_q = std::int64_t{8} << i % 12, .seq_k = std::int64_t{8} << i / 12};
    test::recordTuned(what, config, {.block_m = 64, .block_n = 64});
  }
  kernels::KernelCache tuned(what);
  Kernel kernel = tuned.get({.dtype = DType::F32, .head_dim = 8, .target = "host"});
  alignas(64) static float memory[2 * 8 * 8];
  TensorView view(memory, DType::F32, {1, 1, 8, 8}), out(memory + 8 * 8, DType::F32, {1, 1, 8, 8});
  AttentionArgs args{.q = view, .k = view, .v = view, .o = out};
  for (auto _ : state) kernel.launch({}, args);
}
BENCHMARK(launchWithVariants)->Arg(1)->Arg(6)->Arg(24)->Arg(100);

// A whole TileKernel::launch of one empty program that declares `count` arguments, by name in the order of the declarations, or as slots.
struct UserKernel {
  explicit UserKernel(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) names.push_back("argument_" + std::to_string(i));
    kernel = compile(dsl::trace("empty",
                                [&](dsl::Params& args) {
                                  for (std::size_t i = 0; i < names.size(); ++i)
                                    i < 5 ? void(args.ptr(names[i], DType::F32, 16)) : void(args.scalar(names[i], DType::I64));
                                }),
                     {.target = "host"});
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i < 5)
        arguments.emplace_back(names[i], static_cast<float*>(memory));
      else
        arguments.emplace_back(names[i], std::int64_t{3});
    }
  }
  alignas(64) float memory[16] = {};
  std::vector<std::string> names;
  std::vector<Argument> arguments;
  TileKernel kernel;
};

void launchByName(benchmark::State& state) {
  const UserKernel user(state.range(0));
  for (auto _ : state) user.kernel.launch({}, {1}, user.arguments);
}
BENCHMARK(launchByName)->Arg(4)->Arg(26);

// Four tensors of rank 3, as the operands of attention: 24 arguments that four views fill.
void launchTensors(benchmark::State& state) {
  const char* const names[] = {"q", "k", "v", "o"};
  const TileKernel kernel = compile(dsl::trace("empty",
                                               [&](dsl::Params& args) {
                                                 for (const char* name : names) args.tensor(name, DType::F32, 3, {.alignment = 16});
                                               }),
                                    {.target = "host"});
  alignas(64) static float memory[64];
  const TensorView view(memory, DType::F32, {1, 8, 8});
  const std::vector<Argument> arguments = {{"q", view}, {"k", view}, {"v", view}, {"o", view}};
  for (auto _ : state) kernel.launch({}, {1}, arguments);
}
BENCHMARK(launchTensors);

void launchBySlots(benchmark::State& state) {
  const UserKernel user(state.range(0));
  const std::vector<std::uint64_t> slots(user.arguments.size(), 0);
  for (auto _ : state) user.kernel.launchSlots({}, {1}, slots);
}
BENCHMARK(launchBySlots)->Arg(4)->Arg(26);

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

// What is tuned here is kept in a folder of its own.
int main(int argc, char** argv) {
  std::string folder = (std::filesystem::temp_directory_path() / "runtime-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("FATTN_CACHE_DIR", folder.c_str(), 1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(folder);
  return 0;
}
