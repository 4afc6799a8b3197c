// SPDX-License-Identifier: Apache-2.0
// What a GPU's user pays beside the kernel: opening the device, fattn::compile up to the first result (from the cache on disk where it has
// the kernel, else cold), and the host's time of a launch; and the same of a kernel of one's own, which is launched by names. Beside
// attention's launches, in turns with them, the driver's own call of an empty kernel. Both are measured in a thread whose current context
// is the GPU's primary one, as it is beside PyTorch; the driver's call needs that. `overheads [cuda:N]`, twice: the second process finds
// what the first has kept.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fattn/Decode.h"
#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/System.h"

namespace {

using namespace fattn;
using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

/// For each of these, in turns, the median over batches of launches; the stream is empty when a batch begins, so that no launch waits for
/// room in its queue.
std::vector<double> launchMicroseconds(Device& device, Stream stream, const std::vector<std::function<void()>>& launches) {
  constexpr int kLaunches = 200, kBatches = 51;
  std::vector<std::vector<double>> batches(launches.size());
  for (int batch = 0; batch < kBatches; ++batch)
    for (std::size_t which = 0; which < launches.size(); ++which) {
      device.synchronize(stream);
      Clock::time_point begin = Clock::now();
      for (int i = 0; i < kLaunches; ++i) launches[which]();
      batches[which].push_back(millisecondsSince(begin) * 1000 / kLaunches);
    }
  device.synchronize(stream);
  std::vector<double> medians;
  for (std::vector<double>& all : batches) {
    std::ranges::sort(all);
    medians.push_back(all[all.size() / 2]);
  }
  return medians;
}

void report(const char* what, bool fromCache, double firstMs, double launchUs) {
  fmt::print("{:16}  {:22}  {:12.1f}  {:12.2f}\n", what, fromCache ? "from the cache on disk" : "cold", firstMs, launchUs);
}

/// Sets of four operands of one head, in the device's memory.
struct Operands {
  static constexpr std::int64_t kRows = 16;
  static constexpr std::size_t kSets = 32;  // more than the launches whose tensor maps a thread keeps
  Operands(Device& on, std::int64_t headDim) : device(on), width(headDim), memory(on.allocate(bytes() * 4 * kSets)) {
    device.fill(memory, 0, bytes() * 4 * kSets);
    device.synchronize();
  }
  ~Operands() { device.free(memory); }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  std::size_t bytes() const { return static_cast<std::size_t>(kRows * width * 2); }
  AttentionArgs set(std::size_t n) const { return {.q = view(4 * n), .k = view(4 * n + 1), .v = view(4 * n + 2), .o = view(4 * n + 3)}; }
  TensorView view(std::size_t n) const { return {static_cast<std::byte*>(memory) + n * bytes(), DType::BF16, {1, 1, kRows, width}}; }
  Device& device;
  std::int64_t width;
  void* memory;
};

/// An empty kernel, and the driver's call that launches it. While it lives, the primary context is current in its thread.
class Bare {
 public:
  explicit Bare(cuda::CudaDevice& device)
      : module_(device.load(emptyKernel())), driver_(device.driver()), current_(driver_, device.context()) {}
  void launch(Stream stream) const {
    driver_.check(driver_.api().LaunchKernel(static_cast<const cuda::CudaModule&>(*module_).function(), 1, 1, 1, 128, 1, 1, 0,
                                             static_cast<cuda::StreamHandle>(stream.native), nullptr, nullptr),
                  "launch the empty kernel");
  }

 private:
  static compiler::Binary emptyKernel() {
    return {.target = "nvidia:sm_80",
            .entry = "empty",
            .bytes = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry empty()\n{\n  ret;\n}\n",
            .args = {},
            .threads = 128};
  }
  std::unique_ptr<Module> module_;
  const cuda::Driver& driver_;
  cuda::ContextScope current_;
};

void measureAttention(Device& device, std::int64_t headDim) {
  const Operands operands(device, headDim);
  const AttentionArgs args = operands.set(0);
  Stream stream = device.createStream();
  Clock::time_point begin = Clock::now();
  Kernel kernel = compile({.dtype = DType::BF16, .head_dim = headDim, .target = device.name()});
  kernel.launch(stream, args);
  device.synchronize(stream);
  double first = millisecondsSince(begin);
  std::vector<std::function<void()>> launches = {[&] { kernel.launch(stream, args); }};
  std::vector<AttentionArgs> sets;
  for (std::size_t n = 0; n < Operands::kSets; ++n) sets.push_back(operands.set(n));
  std::size_t next = 0;
  launches.emplace_back([&] { kernel.launch(stream, sets[next = (next + 1) % sets.size()]); });
  const double elsewhere = launchMicroseconds(device, stream, {launches.front()}).front();
  std::optional<Bare> bare;
  if (device.kind() == DeviceKind::Cuda) {
    bare.emplace(static_cast<cuda::CudaDevice&>(device));
    launches.emplace_back([&] { bare->launch(stream); });
  }
  const std::vector<double> times = launchMicroseconds(device, stream, launches);
  report(fmt::format("attention, D {}", headDim).c_str(), kernel.info().from_cache, first, times[0]);
  fmt::print("  operands that the last launches did not have: {:.2f} us", times[1]);
  if (bare)
    fmt::print("; an empty kernel by the driver's call alone: {:.2f} us; where another context is current: {:.2f} us", times[2], elsewhere);
  fmt::print("\n");
  device.destroyStream(stream);
}

/// Decode of one sequence, whose keys several programs share: two launches.
void measureDecode(Device& device) {
  constexpr std::int64_t kHeads = 32, kKeyHeads = 8, kKeys = 4096, kWidth = 128;
  constexpr std::size_t kCacheBytes = kKeyHeads * kKeys * kWidth * 2, kRowBytes = kHeads * kWidth * 2;
  Stream stream = device.createStream();
  Clock::time_point begin = Clock::now();
  const DecodeKernel kernel =
      compile(DecodeConfig{.dtype = DType::BF16, .head_dim = kWidth, .rows = kHeads / kKeyHeads, .target = device.name()});
  DecodeArgs args;
  const auto workspaceBytes = static_cast<std::size_t>(kernel.workspaceBytes()), all = 2 * kCacheBytes + 2 * kRowBytes + workspaceBytes;
  auto* memory = static_cast<std::byte*>(device.allocate(all));
  device.fill(memory, 0, all);
  args.k = TensorView(memory, DType::BF16, {1, kKeyHeads, kKeys, kWidth});
  args.v = TensorView(memory + kCacheBytes, DType::BF16, {1, kKeyHeads, kKeys, kWidth});
  args.q = TensorView(memory + 2 * kCacheBytes, DType::BF16, {1, kHeads, 1, kWidth});
  args.o = TensorView(memory + 2 * kCacheBytes + kRowBytes, DType::BF16, {1, kHeads, 1, kWidth});
  args.workspace = memory + 2 * kCacheBytes + 2 * kRowBytes, args.workspace_bytes = kernel.workspaceBytes();
  kernel.launch(stream, args);
  device.synchronize(stream);
  const double first = millisecondsSince(begin);
  report("decode, D 128", kernel.info().from_cache, first,
         launchMicroseconds(device, stream, {[&] { kernel.launch(stream, args); }}).front());
  fmt::print("  in {} launches\n", kernel.splits(args) > 1 ? 2 : 1);
  device.destroyStream(stream);
  device.free(memory);
}

/// A program of four tensors as attention's, which copies a row of one.
void measureOwn(Device& device) {
  const Operands operands(device, 64);
  const TensorView q = operands.view(0), k = operands.view(1), v = operands.view(2), o = operands.view(3);
  const std::vector<Argument> args = {{"q", q}, {"k", k}, {"v", v}, {"o", o}};
  Stream stream = device.createStream();
  Clock::time_point begin = Clock::now();
  TileKernel kernel = compile(dsl::trace("own",
                                         [](dsl::Params& params) {
                                           std::vector<dsl::TensorArg> tensors;
                                           for (const char* name : {"q", "k", "v", "o"})
                                             tensors.push_back(params.tensor(name, DType::BF16, 4, {.alignment = 16}));
                                           auto row = [](const dsl::TensorArg& of) { return of.block({0, 0, 0, 0}, {1, 1, 1, 64}); };
                                           dsl::store(row(tensors[3]), dsl::load(row(tensors[0])));
                                         }),
                              {.target = device.name()});
  kernel.launch(stream, {1}, args);
  device.synchronize(stream);
  double first = millisecondsSince(begin);
  report("own, by names", kernel.info().from_cache, first,
         launchMicroseconds(device, stream, {[&] { kernel.launch(stream, {1}, args); }}).front());
  device.destroyStream(stream);
}

}  // namespace

int main(int argc, char** argv) try {
  Clock::time_point begin = Clock::now();
  Device& device = openDevice(argc > 1 ? argv[1] : "cuda");
  double opened = millisecondsSince(begin);
  device.prepare();
  fmt::print("{}: opened in {:.1f} ms, context in {:.1f} ms\nkernel            compile               first result ms  launch us\n",
             device.description(), opened, millisecondsSince(begin) - opened);
  for (std::int64_t headDim : {64, 128}) measureAttention(device, headDim);
  measureDecode(device);
  measureOwn(device);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "overheads: {}\n", error.what());
  return error.code() == ErrorCode::NoDevice ? 4 : 1;
}
