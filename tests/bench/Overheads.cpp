// SPDX-License-Identifier: Apache-2.0
// What a GPU's user pays beside the kernel: opening the device, fattn::compile up to the first result (from the cache on disk where it has
// the kernel, else cold), and the host's time of a launch; and the same of a kernel of one's own, which is launched by names.
// `overheads [cuda:N]`, twice: the second process finds what the first has kept.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"

namespace {

using namespace fattn;
using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

/// The median over batches of launches; the stream is empty when a batch begins, so that no launch waits for room in its queue.
double launchMicroseconds(Device& device, Stream stream, const std::function<void()>& launch) {
  constexpr int kLaunches = 200;
  std::vector<double> batches;
  for (int batch = 0; batch < 50; ++batch) {
    device.synchronize(stream);
    Clock::time_point begin = Clock::now();
    for (int i = 0; i < kLaunches; ++i) launch();
    batches.push_back(millisecondsSince(begin) * 1000 / kLaunches);
  }
  device.synchronize(stream);
  std::ranges::sort(batches);
  return batches[batches.size() / 2];
}

void report(const char* what, bool fromCache, double firstMs, double launchUs) {
  fmt::print("{:16}  {:22}  {:12.1f}  {:12.2f}\n", what, fromCache ? "from the cache on disk" : "cold", firstMs, launchUs);
}

/// Four operands of one head, in the device's memory.
struct Operands {
  static constexpr std::int64_t kRows = 128;
  Operands(Device& on, std::int64_t headDim) : device(on), width(headDim), memory(on.allocate(bytes() * 4)) {
    device.fill(memory, 0, bytes() * 4);
    device.synchronize();
  }
  ~Operands() { device.free(memory); }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  std::size_t bytes() const { return static_cast<std::size_t>(kRows * width * 2); }
  TensorView view(std::size_t n) const { return {static_cast<std::byte*>(memory) + n * bytes(), DType::BF16, {1, 1, kRows, width}}; }
  Device& device;
  std::int64_t width;
  void* memory;
};

void measureAttention(Device& device, std::int64_t headDim) {
  const Operands operands(device, headDim);
  const AttentionArgs args{.q = operands.view(0), .k = operands.view(1), .v = operands.view(2), .o = operands.view(3)};
  Stream stream = device.createStream();
  Clock::time_point begin = Clock::now();
  Kernel kernel = compile({.dtype = DType::BF16, .head_dim = headDim, .target = device.name()});
  kernel.launch(stream, args);
  device.synchronize(stream);
  double first = millisecondsSince(begin);
  report(fmt::format("attention, D {}", headDim).c_str(), kernel.info().from_cache, first,
         launchMicroseconds(device, stream, [&] { kernel.launch(stream, args); }));
  device.destroyStream(stream);
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
  report("own, by names", kernel.info().from_cache, first, launchMicroseconds(device, stream, [&] { kernel.launch(stream, {1}, args); }));
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
  measureOwn(device);
} catch (const Error& error) {
  fmt::print(stderr, "overheads: {}\n", error.what());
  return error.code() == ErrorCode::NoDevice ? 4 : 1;
}
