// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-bench/Ceilings.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "compiler/driver/Compile.h"
#include "dsl/Internal.h"
#include "fattn/dsl/Dsl.h"
#include "kernels/attention/AttentionSupport.h"
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

template <class T>
std::uint64_t slot(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const void*>(&value), sizeof(value));
  return bits;
}

/// A compiled kernel, loaded and ready.
class Kernel : public Ceiling {
 public:
  Kernel(Device& device, const compiler::Binary& binary) : device_(device), module_(device.load(binary)) {}
  void launch() override { device_.launch(*module_, grid, arguments); }

  Grid grid;
  std::vector<std::uint64_t> arguments;
  std::vector<Memory> memory;

 private:
  Device& device_;
  std::unique_ptr<Module> module_;
};

bool isHost(const std::string& target) { return target.starts_with("host"); }

compiler::Binary compileFor(const std::string& target, const TileConfig& config, const dsl::Program& program) {
  compiler::CompileOptions options;
  options.target = kernels::codeTarget(target);
  if (!isHost(target)) options.config = config;
  return compiler::compile(dsl::internal::module(program), options);
}

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

compiler::Binary compileCopy(const std::string& target) { return compileFor(target, {.warps = 4}, traceCopy(copyBlock(target))); }

compiler::Binary compileDots(const std::string& target, DType type) {
  return compileFor(target, {.stages = 1, .warps = 8}, traceDots(type, dotBlock(target)));
}

std::unique_ptr<Ceiling> copyCeiling(Device& device, const std::string& target) {
  const Capabilities can = device.capabilities();
  const std::int64_t block = copyBlock(target);
  std::int64_t bytes = std::clamp<std::int64_t>(4 * can.cacheBytes, std::int64_t{64} << 20, std::int64_t{512} << 20);
  bytes = std::min(bytes, can.memoryBytes / 16) / (block * 4) * (block * 4);
  auto kernel = std::make_unique<Kernel>(device, compileCopy(target));
  kernel->memory.push_back(allocate(device, bytes));
  kernel->memory.push_back(allocate(device, bytes));
  kernel->arguments = {slot(kernel->memory[0].get()), slot(kernel->memory[1].get()), slot(bytes / 4)};
  kernel->grid = {bytes / 4 / block, 1, 1};
  kernel->bytes = 2.0 * static_cast<double>(bytes);
  return kernel;
}

std::unique_ptr<Ceiling> matrixCeiling(Device& device, const std::string& target, DType type, double microseconds) {
  const Block block = dotBlock(target);
  auto kernel = std::make_unique<Kernel>(device, compileDots(target, type));
  for (std::int64_t rows : {block.m, block.n}) kernel->memory.push_back(randomTile(device, type, rows, block.k));
  kernel->memory.push_back(allocate(device, block.m * block.n * 4));
  std::int32_t trips = 64;
  for (const Memory& each : kernel->memory) kernel->arguments.push_back(slot(each.get()));
  kernel->arguments.push_back(slot(trips));
  kernel->grid = {4 * std::max(device.capabilities().multiprocessors, 1), 1, 1};
  launchUs(device, *kernel);
  for (int round = 0; round < 2; ++round) {  // the second time from a figure that is no longer that of a cold start
    const double factor = microseconds / std::max(launchUs(device, *kernel), 1.0);
    trips = static_cast<std::int32_t>(std::clamp(trips * factor, 16.0, 1e7));
    kernel->arguments.back() = slot(trips);
  }
  kernel->flops = 2.0 * static_cast<double>(block.m * block.n * block.k) * trips * static_cast<double>(kernel->grid.x);
  return kernel;
}

}  // namespace fattn::bench
