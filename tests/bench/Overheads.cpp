// SPDX-License-Identifier: Apache-2.0
// What a GPU's user pays beside the kernel: opening the device, fattn::compile up to the first result (from the cache on disk where it has
// the kernel, else cold), and the host's time of a launch. `overheads [cuda:N]`, twice: the second process finds what the first has kept.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "fattn/fattn.h"

namespace {

using namespace fattn;
using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

/// The median over batches of launches; the stream is empty when a batch begins, so that no launch waits for room in its queue.
double launchMicroseconds(Device& device, const Kernel& kernel, const AttentionArgs& args, Stream stream) {
  constexpr int kLaunches = 200;
  std::vector<double> batches;
  for (int batch = 0; batch < 50; ++batch) {
    device.synchronize(stream);
    Clock::time_point begin = Clock::now();
    for (int i = 0; i < kLaunches; ++i) kernel.launch(stream, args);
    batches.push_back(millisecondsSince(begin) * 1000 / kLaunches);
  }
  device.synchronize(stream);
  std::ranges::sort(batches);
  return batches[batches.size() / 2];
}

void measure(Device& device, std::int64_t headDim) {
  constexpr std::int64_t kRows = 128;
  std::size_t bytes = static_cast<std::size_t>(kRows * headDim * 2);
  void* memory = device.allocate(4 * bytes);
  auto view = [&](std::size_t n) { return TensorView(static_cast<std::byte*>(memory) + n * bytes, DType::BF16, {1, 1, kRows, headDim}); };
  AttentionArgs args{.q = view(0), .k = view(1), .v = view(2), .o = view(3)};
  device.fill(memory, 0, 4 * bytes);
  device.synchronize();
  Stream stream = device.createStream();
  Clock::time_point begin = Clock::now();
  Kernel kernel = compile({.dtype = DType::BF16, .head_dim = headDim, .target = device.name()});
  kernel.launch(stream, args);
  device.synchronize(stream);
  double first = millisecondsSince(begin);
  fmt::print("{:4}  {:22}  {:12.1f}  {:12.2f}\n", headDim, kernel.info().from_cache ? "from the cache on disk" : "cold", first,
             launchMicroseconds(device, kernel, args, stream));
  device.destroyStream(stream);
  device.free(memory);
}

}  // namespace

int main(int argc, char** argv) try {
  Clock::time_point begin = Clock::now();
  Device& device = openDevice(argc > 1 ? argv[1] : "cuda");
  double opened = millisecondsSince(begin);
  device.prepare();
  fmt::print("{}: opened in {:.1f} ms, context in {:.1f} ms\n   D  compile               first result ms  launch us\n",
             device.description(), opened, millisecondsSince(begin) - opened);
  for (std::int64_t headDim : {64, 128}) measure(device, headDim);
} catch (const Error& error) {
  fmt::print(stderr, "overheads: {}\n", error.what());
  return error.code() == ErrorCode::NoDevice ? 4 : 1;
}
