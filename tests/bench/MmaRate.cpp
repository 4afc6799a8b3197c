// SPDX-License-Identifier: Apache-2.0
// The rate of mma.sync on the GPU of this machine: bare loops of independent accumulators, no memory. What a kernel on this path can
// reach at most, and the cycles an instruction takes in the machine table (compiler/gpu/targets/Nvidia.cpp). `mma-rate [cuda:N]`.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "fattn/Error.h"
#include "runtime/cuda/System.h"

namespace {

using namespace fattn;

constexpr int kIterations = 2000, kUnroll = 4;

struct Instruction {
  const char *name, *shape, *types;
  int a, b, c, k;  // 32-bit registers of each operand, depth
  const char* accumulator = "f";
};
constexpr Instruction kInstructions[] = {
    {"bf16", "m16n8k16", "f32.bf16.bf16.f32", 4, 2, 4, 16}, {"bf16 k8", "m16n8k8", "f32.bf16.bf16.f32", 2, 1, 4, 8},
    {"f16", "m16n8k16", "f32.f16.f16.f32", 4, 2, 4, 16},    {"tf32", "m16n8k8", "f32.tf32.tf32.f32", 4, 2, 4, 8},
    {"e4m3", "m16n8k32", "f32.e4m3.e4m3.f32", 4, 2, 4, 32},
};

std::string list(const char* prefix, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i ? ", " : "", prefix, first + i);
  return "{" + text + "}";
}

/// Every warp multiplies random-looking operands into `accumulators` tiles, and leaves the cycles it took.
std::string ptxOf(const Instruction& mma, int accumulators, int capability) {
  std::string body;
  for (int u = 0; u < kUnroll; ++u)
    for (int t = 0; t < accumulators; ++t)
      body += fmt::format("  mma.sync.aligned.{}.row.col.{} {}, {}, {}, {};\n", mma.shape, mma.types, list("d", 4 * t, 4),
                          list("a", 0, mma.a), list("b", 2 * (t % 2), mma.b), list("d", 4 * t, 4));
  std::string init, sum;
  for (int i = 0; i < 4; ++i)
    init += fmt::format("  mad.lo.u32 %a{0}, %t, {1}, {2};\n  and.b32 %a{0}, %a{0}, 0x3b7f3b7f;\n", i, 2654435761u >> i, i * 77773);
  for (int i = 0; i < 4; ++i) init += fmt::format("  xor.b32 %b{0}, %a{0}, 0x80000380;\n", i);
  for (int i = 0; i < 4 * accumulators; ++i) {
    init += fmt::format("  mov.f32 %d{}, 0f00000000;\n", i);
    sum += fmt::format("  add.f32 %s, %s, %d{};\n", i);
  }
  return fmt::format(R"(.version {} .target sm_{} .address_size 64
.visible .entry rate(.param .u64 out, .param .u64 sums) {{
  .reg .pred %p; .reg .b32 %a<4>, %b<4>, %t, %i; .reg .f32 %d<{}>, %s; .reg .b64 %x, %y, %c0, %c1;
  mov.u32 %t, %tid.x;
{}  mov.f32 %s, 0f00000000; mov.u32 %i, 0; bar.sync 0; mov.u64 %c0, %clock64;
loop:
{}  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {}; @%p bra loop;
{}  bar.sync 0; mov.u64 %c1, %clock64; sub.u64 %c1, %c1, %c0;
  mov.u32 %i, %ctaid.x; ld.param.u64 %x, [out]; mul.wide.u32 %y, %i, 8; add.u64 %x, %x, %y; st.global.u64 [%x], %c1;
  mov.u32 %a0, %ntid.x; mad.lo.u32 %i, %i, %a0, %t; ld.param.u64 %x, [sums]; mul.wide.u32 %y, %i, 4; add.u64 %x, %x, %y; st.global.f32 [%x], %s;
  ret;
}})",
                     capability >= 100 ? "8.7" : "8.4", capability, 4 * accumulators, init, body, kIterations, sum);
}

struct Rate {
  double fmaPerCycle = 0, teraflops = 0;
};

Rate measure(cuda::CudaDevice& gpu, const Instruction& mma, int warps, int accumulators) {
  compiler::Binary binary;
  binary.target = fmt::format("nvidia:sm_{}", gpu.attributes().capability);
  binary.entry = "rate";
  binary.bytes = ptxOf(mma, accumulators, gpu.attributes().capability);
  binary.args = {{"out", true, DType::I64}, {"sums", true, DType::F32}};
  binary.threads = 32 * warps;
  Device& device = gpu;
  std::unique_ptr<Module> module = device.load(binary);
  std::size_t blocks = static_cast<std::size_t>(gpu.attributes().multiprocessors);
  void* out = device.allocate(blocks * 8);
  void* sums = device.allocate(blocks * 32 * static_cast<std::size_t>(warps) * 4);
  std::vector slots{std::bit_cast<std::uint64_t>(out), std::bit_cast<std::uint64_t>(sums)};
  auto begin = device.createEvent(), end = device.createEvent();
  std::vector<double> times;
  for (int i = 0; i < 12; ++i) {
    begin->record({});
    device.launch(*module, {static_cast<std::int64_t>(blocks), 1, 1}, slots, {});
    end->record({});
    times.push_back(device.elapsedMs(*begin, *end));
  }
  std::vector<std::uint64_t> cycles(blocks);
  device.copy(cycles.data(), out, blocks * 8);
  device.synchronize();
  std::ranges::sort(cycles);
  std::ranges::sort(times);
  device.free(out);
  device.free(sums);
  double fma = 16.0 * 8 * mma.k * accumulators * kUnroll * kIterations * warps;
  return {fma / static_cast<double>(cycles[blocks / 2]), 2 * fma * static_cast<double>(blocks) / (times[times.size() / 2] * 1e9)};
}

}  // namespace

int main(int argc, char** argv) try {
  auto& gpu = cuda::System::instance().open(argc > 1 ? argv[1] : "cuda");
  fmt::print("{}: mma.sync, one block an SM\n{:8} {:9} {:>5} {:>5} {:>14} {:>14} {:>8}\n", gpu.description(), "type", "shape", "warps",
             "tiles", "FMA/cycle/SM", "cycles an mma", "TFLOP/s");
  for (const Instruction& mma : kInstructions) {
    // Others have no such instruction, or emulate it: then the conversions of operands that stay the same are done once only.
    int capability = gpu.attributes().capability;
    if (std::string_view(mma.name) == "e4m3" && capability != 89 && capability != 120) continue;
    // One warp with one accumulator waits for each result: these cycles are the latency.
    for (auto [warps, accumulators] : {std::pair(1, 1), {4, 4}, {4, 16}, {8, 4}, {8, 16}, {16, 4}, {16, 16}}) {
      Rate rate = measure(gpu, mma, warps, accumulators);
      fmt::print("{:8} {:9} {:5} {:5} {:14.1f} {:14.2f} {:8.1f}\n", mma.name, mma.shape, warps, accumulators, rate.fmaPerCycle,
                 16.0 * 8 * mma.k / rate.fmaPerCycle, rate.teraflops);
    }
  }
} catch (const Error& error) {
  fmt::print(stderr, "mma-rate: {}\n", error.what());
  return error.code() == ErrorCode::NoDevice ? 4 : 1;
}
