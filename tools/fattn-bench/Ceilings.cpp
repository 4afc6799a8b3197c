// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-bench/Ceilings.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "runtime/base/TargetName.h"
#include "tools/io/Random.h"

namespace fattn::bench {
namespace {

using Memory = std::unique_ptr<void, std::function<void(void*)>>;

Memory allocate(Device& device, std::size_t bytes) {
  Memory memory(device.allocate(bytes), [&device](void* p) { device.free(p); });
  device.fill(memory.get(), 0, bytes);
  return memory;
}

/// Random numbers: a multiplier that is fed zeros takes less power than one at work, and so may be clocked higher.
Memory randomTile(Device& device, DType type, std::int64_t rows, std::int64_t columns) {
  io::HostTensor values = io::HostTensor::allocate(type, {rows, columns});
  io::fillNormal(values, 0, 0, 1);
  Memory memory = allocate(device, values.bytes());
  device.copy(memory.get(), values.data(), values.bytes());
  device.synchronize();
  return memory;
}

/// A compiled kernel with its operands, ready.
class BoundKernel : public Ceiling {
 public:
  BoundKernel(const CeilingProgram& from, const std::string& target)
      : kernel_(compile(from.program, {.target = target, .tile = from.tile})) {}
  void launch() override { kernel_.launch({}, grid, arguments); }

  Grid grid;
  std::vector<Argument> arguments;
  std::vector<Memory> memory;

 private:
  TileKernel kernel_;
};

bool isHost(const std::string& target) { return parseTarget(target).isHost(); }

/// Elements that one program copies.
std::int64_t copyBlock(const std::string& target) { return isHost(target) ? 16384 : 2048; }

dsl::Program traceCopy(std::int64_t block) {
  using namespace dsl;
  return trace("copy", [=](Params& params) {
    Ptr from = params.ptr("from", DType::F32, 16, Aliasing::None), to = params.ptr("to", DType::F32, 16);
    Scalar n = params.scalar("n", DType::I64, 16);
    Scalar begin = cast(program_id(0), DType::I64) * block;
    store(make_block_ptr(to, {n}, {1}, {begin}, {block}), load(make_block_ptr(from, {n}, {1}, {begin}, {block})));
  });
}

struct Block {
  std::int64_t m, n, k;
};

Block dotBlock(const std::string& target) { return isHost(target) ? Block{64, 64, 128} : Block{128, 128, 64}; }

/// Every trip multiplies the same tiles, into an accumulator that it needs from the trip before.
dsl::Program traceDots(DType type, Block block) {
  using namespace dsl;
  return trace("dots", [=](Params& params) {
    const std::int64_t align = 16;
    Ptr a = params.ptr("a", type, align, Aliasing::None), b = params.ptr("b", type, align, Aliasing::None),
        c = params.ptr("c", DType::F32, align);
    Scalar trips = params.scalar("trips", DType::I32);
    Tile x = load(make_block_ptr(a, {block.m, block.k}, {block.k, 1}, {0, 0}, {block.m, block.k}));
    Tile y = load(make_block_ptr(b, {block.n, block.k}, {block.k, 1}, {0, 0}, {block.n, block.k}));
    auto [acc] = for_(0, trips, 1, carry(zeros({block.m, block.n})), [&](Scalar, Tile acc) { return carry(dot(x, trans(y), acc)); });
    store(make_block_ptr(c, {block.m, block.n}, {block.n, 1}, {0, 0}, {block.m, block.n}), acc);
  });
}

double launchUs(Device& device, Ceiling& ceiling) {
  const auto begin = device.createEvent(), end = device.createEvent();
  begin->record({});
  ceiling.launch();
  end->record({});
  return device.elapsedMs(*begin, *end) * 1000;
}

}  // namespace

CeilingProgram copyProgram(const std::string& target) {
  return {traceCopy(copyBlock(target)), isHost(target) ? TileConfig{} : TileConfig{.warps = 4}};
}

CeilingProgram dotsProgram(const std::string& target, DType type) {
  return {traceDots(type, dotBlock(target)), isHost(target) ? TileConfig{} : TileConfig{.stages = 1, .warps = 8}};
}

std::unique_ptr<Ceiling> copyCeiling(Device& device, const std::string& target) {
  const Capabilities can = device.capabilities();
  const std::int64_t block = copyBlock(target);
  std::int64_t bytes = std::clamp<std::int64_t>(4 * can.cacheBytes, std::int64_t{64} << 20, std::int64_t{512} << 20);
  bytes = std::min(bytes, can.memoryBytes / 16) / (block * 4) * (block * 4);
  auto kernel = std::make_unique<BoundKernel>(copyProgram(target), target);
  kernel->memory.push_back(allocate(device, bytes));
  kernel->memory.push_back(allocate(device, bytes));
  kernel->arguments = {{"from", kernel->memory[0].get()}, {"to", kernel->memory[1].get()}, {"n", bytes / 4}};
  kernel->grid = {bytes / 4 / block, 1, 1};
  kernel->bytes = 2.0 * static_cast<double>(bytes);
  return kernel;
}

std::unique_ptr<Ceiling> matrixCeiling(Device& device, const std::string& target, DType type, double microseconds) {
  const Block block = dotBlock(target);
  auto kernel = std::make_unique<BoundKernel>(dotsProgram(target, type), target);
  for (std::int64_t rows : {block.m, block.n}) kernel->memory.push_back(randomTile(device, type, rows, block.k));
  kernel->memory.push_back(allocate(device, block.m * block.n * 4));
  std::int32_t trips = 64;
  const auto& [a, b, c] = std::tie(kernel->memory[0], kernel->memory[1], kernel->memory[2]);
  kernel->arguments = {{"a", a.get()}, {"b", b.get()}, {"c", c.get()}, {"trips", trips}};
  kernel->grid = {4 * std::max(device.capabilities().multiprocessors, 1), 1, 1};
  launchUs(device, *kernel);
  for (int round = 0; round < 2; ++round) {  // the second time from a figure that is no longer that of a cold start
    const double factor = microseconds / std::max(launchUs(device, *kernel), 1.0);
    trips = static_cast<std::int32_t>(std::clamp(trips * factor, 16.0, 1e7));
    kernel->arguments.back() = Argument("trips", trips);
  }
  kernel->flops = 2.0 * static_cast<double>(block.m * block.n * block.k) * trips * static_cast<double>(kernel->grid.x);
  return kernel;
}

}  // namespace fattn::bench
