// SPDX-License-Identifier: Apache-2.0
#include "simulator/Run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "fattn/Error.h"
#include "simulator/Execute.h"
#include "simulator/FloatMode.h"
#include "simulator/Wave.h"

namespace fattn::simulator {
namespace {

using Dim = std::array<std::uint32_t, 3>;

[[noreturn]] void refuse(const Kernel& kernel, std::string why) {
  throw Error(ErrorCode::InvalidArgument, fmt::format("the kernel {} cannot be launched: {}", kernel.name, why));
}

std::uint32_t product(const Dim& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

void checkLaunch(const CodeObject& object, const Kernel& kernel, std::size_t argumentBytes, const Dim& grid, const Dim& block) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (grid[i] == 0 || block[i] == 0 || block[i] > 1024)
      refuse(kernel, "a grid has at least 1 block a dimension, a block 1 to 1024 threads");
    if (kernel.requiredBlock[i] != 0 && kernel.requiredBlock[i] != block[i])
      refuse(kernel, fmt::format("it was compiled for blocks of {} x {} x {} threads, not {} x {} x {}", kernel.requiredBlock[0],
                                 kernel.requiredBlock[1], kernel.requiredBlock[2], block[0], block[1], block[2]));
  }
  std::uint32_t threads = product(block), most = kernel.maxThreads != 0 ? kernel.maxThreads : 1024;
  if (threads > most) refuse(kernel, fmt::format("a block has {} threads, and it was compiled for at most {}", threads, most));
  if (argumentBytes != kernel.explicitBytes())
    refuse(kernel, fmt::format("its arguments have {} bytes, not {}", kernel.explicitBytes(), argumentBytes));
  if (kernel.ldsBytes > object.chip().ldsBytes)
    refuse(kernel, fmt::format("it asks for {} bytes of LDS; {} has {}", kernel.ldsBytes, object.chip().name, object.chip().ldsBytes));
}

/// The explicit arguments, and the hidden ones that the metadata names. A segment is aligned to 16 bytes, and LLVM loads to the end of the
/// last 16: what is behind the arguments is no number that could be taken for one.
std::vector<std::byte> argumentSegment(const Kernel& kernel, std::span<const std::byte> arguments, const Dim& grid, const Dim& block) {
  constexpr std::size_t kAlignment = 16;
  const std::size_t bytes = std::max<std::size_t>(kernel.kernargBytes, arguments.size());
  std::vector<std::byte> segment(bytes);
  segment.resize((bytes + kAlignment - 1) / kAlignment * kAlignment, std::byte{0xff});
  std::ranges::copy(arguments, segment.begin());
  auto put = [&](const KernelArgument& argument, std::uint64_t value) {
    if (argument.offset + argument.size > segment.size() || argument.size > 8)
      refuse(kernel, "its metadata describes an argument outside of its segment");
    std::memcpy(segment.data() + argument.offset, &value, argument.size);
  };
  for (const KernelArgument& argument : kernel.arguments) {
    if (!argument.isHidden()) continue;
    std::size_t dimension = argument.kind.ends_with("_x") ? 0 : argument.kind.ends_with("_y") ? 1 : 2;
    if (argument.kind.starts_with("hidden_block_count_"))
      put(argument, grid[dimension]);
    else if (argument.kind.starts_with("hidden_group_size_"))
      put(argument, block[dimension]);
    else if (argument.kind == "hidden_grid_dims")
      put(argument, 3);
  }
  return segment;
}

/// Everything of a launch that its workgroups share.
struct Launch {
  const CodeObject& object;
  const Kernel& kernel;
  const Memory& memory;
  std::uint64_t argumentAddress, loadAddress;
  std::span<const std::byte> arguments;
  Dim grid, block;
  const LaunchOptions& options;

  void startScalars(Wave& wave, const Dim& id) const;
  void startVectors(Wave& wave) const;
  std::unique_ptr<Wave> makeWave(Workgroup& group, int number) const;
};

/// The registers that the descriptor asks for, in the order of its bits; then the workgroup's place in the grid.
void Launch::startScalars(Wave& wave, const Dim& id) const {
  static constexpr int kSizes[] = {4, 2, 2, 2,
                                   2, 2, 1};  // private buffer, dispatch, queue, arguments, dispatch id, flat scratch, private size
  int next = 0;
  for (int bit = 0; bit < 7; ++bit) {
    if ((kernel.properties >> bit & 1) == 0) continue;
    if (bit == 3) wave.setScalar64(next, argumentAddress);
    if (bit == 6) wave.setScalar(next, kernel.scratchBytes);
    next += kSizes[bit];
  }
  for (std::uint32_t i = 0; i < kernel.preloadedDwords; ++i) {
    std::uint32_t value = 0;
    std::size_t at = (kernel.preloadOffset + i) * 4;
    if (at + 4 <= arguments.size()) std::memcpy(&value, arguments.data() + at, 4);
    wave.setScalar(next++, value);
  }
  next = std::max(next, static_cast<int>(kernel.resource2 >> 1 & 31));
  if (object.chip().hasSplitCounters()) {
    wave.setScalar(Scalar::kTtmp + 9, id[0]);
    wave.setScalar(Scalar::kTtmp + 7, id[1] | id[2] << 16);
    return;
  }
  for (int dimension = 0; dimension < 3; ++dimension)
    if ((kernel.resource2 >> (7 + dimension) & 1) != 0) wave.setScalar(next++, id[static_cast<std::size_t>(dimension)]);
}

/// v0 has the thread's place in its workgroup.
void Launch::startVectors(Wave& wave) const {
  std::uint32_t threads = product(block);
  std::uint64_t lanes = 0;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    std::uint32_t thread = static_cast<std::uint32_t>(wave.number * wave.lanes + lane);
    if (thread >= threads) break;
    lanes |= std::uint64_t{1} << lane;
    wave.row(0)[lane] = thread % block[0] | thread / block[0] % block[1] << 10 | thread / block[0] / block[1] << 20;
  }
  wave.startLanes = lanes;
  wave.setExec(lanes);
  wave.undefined(0) = ~lanes;
}

std::unique_ptr<Wave> Launch::makeWave(Workgroup& group, int number) const {
  auto wave = std::make_unique<Wave>();
  wave->group = &group;
  wave->number = number;
  wave->lanes = kernel.lanes;
  wave->allLanes = kernel.lanes == 64 ? ~std::uint64_t{0} : 0xffffffff;
  int registers = kernel.vectorRegisters(object.chip()), split = kernel.accumulatorOffset(object.chip());
  wave->vectors = std::min({registers, split, 256});
  wave->accumulators = std::clamp(registers - split, 0, 256);
  wave->mode = kernel.resource1 >> 12 & 0xff;
  wave->rows.resize(512);
  wave->undefinedLanes.assign(512, ~std::uint64_t{0});
  wave->undefinedBits.fill(~0U);
  wave->undefinedBits[Scalar::kExec] = wave->undefinedBits[Scalar::kExec + 1] = 0;
  wave->undefinedBits[Scalar::kVccz] = wave->undefinedBits[Scalar::kExecz] = 0;
  startScalars(*wave, group.id);
  startVectors(*wave);
  wave->scratch.bytesPerLane = kernel.scratchBytes;
  wave->scratch.bytes.assign(std::size_t{kernel.scratchBytes} * 64, 0);
  wave->scratch.states.assign(std::size_t{kernel.scratchBytes} * 64, Scratch::Byte::Unwritten);
  std::int32_t entry = object.instructionAt(kernel.entry);
  if (entry < 0) refuse(kernel, "no instruction begins at its entry");
  wave->next = static_cast<std::uint32_t>(entry);
  wave->current = &object.code()[wave->next];
  return wave;
}

Fault describe(const Wave& wave, const Violation& violation) {
  const Instruction& instruction = *wave.current;
  return {.message = violation.message,
          .address = instruction.address - wave.group->entry,
          .instruction = instruction.text.empty() ? "(no instruction)" : instruction.text,
          .workgroup = wave.group->id,
          .wave = wave.number,
          .lane = violation.lane};
}

/// Runs a wave to its next barrier or its end.
std::optional<Fault> advance(Wave& wave, std::uint64_t most) {
  try {
    while (wave.state == Wave::State::Running) {
      if (wave.executed >= most) violate(fmt::format("has executed {} instructions without an end", most));
      step(wave);
    }
  } catch (const Violation& violation) {
    return describe(wave, violation);
  }
  return std::nullopt;
}

/// All waves have met: accesses that no wait covers may still be on their way.
void passBarrier(Workgroup& group, std::vector<std::unique_ptr<Wave>>& waves) {
  group.lds.barrier();
  for (auto& wave : waves) {
    wave->state = Wave::State::Running;
    for (const Outstanding& access : wave->counters.outstanding())
      for (const LdsAccess& lds : access.lds) {
        if (access.readsLds)
          group.lds.markReading(wave->number, lds);
        else
          group.lds.markInFlight(wave->number, lds, access.hiddenFromItself);
      }
  }
  ++group.statistics.barriers;
}

std::optional<Fault> runGroup(Workgroup& group, std::vector<std::unique_ptr<Wave>>& waves, const LaunchOptions& options,
                              std::mt19937_64& random) {
  std::vector<std::size_t> order(waves.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options.order == LaunchOptions::Order::Reversed) std::ranges::reverse(order);
  for (;;) {
    if (options.order == LaunchOptions::Order::Random) std::ranges::shuffle(order, random);
    for (std::size_t i : order)
      if (auto fault = advance(*waves[i], options.mostInstructions)) return fault;
    auto ended = std::ranges::find(waves, Wave::State::Ended, [](const auto& wave) { return wave->state; });
    auto waiting = std::ranges::find(waves, Wave::State::AtBarrier, [](const auto& wave) { return wave->state; });
    if (waiting == waves.end()) return std::nullopt;
    if (ended != waves.end())
      return describe(**waiting, {fmt::format("waits at a barrier that wave {} never meets: it has ended", (*ended)->number)});
    passBarrier(group, waves);
  }
}

Dim placeOf(std::uint64_t number, const Dim& grid) {
  return {static_cast<std::uint32_t>(number % grid[0]), static_cast<std::uint32_t>(number / grid[0] % grid[1]),
          static_cast<std::uint32_t>(number / grid[0] / grid[1])};
}

}  // namespace

LaunchResult launch(const CodeObject& object, std::string_view kernelName, std::span<const std::byte> arguments, Dim grid, Dim block,
                    Memory memory, const LaunchOptions& options) {
  const Kernel& kernel = object.kernel(kernelName);
  checkLaunch(object, kernel, arguments.size(), grid, block);
  std::vector<std::byte> segment = argumentSegment(kernel, arguments, grid, block), image = object.image();
  std::uint64_t argumentAddress = memory.add("the kernel's arguments", segment, Memory::Use::ReadOnly);
  std::uint64_t loadAddress = memory.add("the code object", image, Memory::Use::ReadOnly);
  Launch setup{object, kernel, memory, argumentAddress, loadAddress, segment, grid, block, options};
  std::mt19937_64 random(options.seed);
  int waveCount =
      static_cast<int>((product(block) + static_cast<std::uint32_t>(kernel.lanes) - 1) / static_cast<std::uint32_t>(kernel.lanes));
  LaunchResult result;
  Workgroup group;
  group.chip = &object.chip();
  group.memory = &memory;
  group.code = &object.code();
  group.loadAddress = loadAddress;
  group.entry = kernel.entry;
  FloatMode mode(kernel.resource1 >> 12 & 0xff);
  const std::uint64_t groups = options.only.empty() ? std::uint64_t{1} * grid[0] * grid[1] * grid[2] : options.only.size();
  for (std::uint64_t number = 0; number < groups && !result.fault; ++number) {
    group.id = options.only.empty() ? placeOf(number, grid) : options.only[number];
    group.lds.reset(kernel.ldsBytes);
    Trace trace;
    if (options.traced) trace.waves.resize(static_cast<std::size_t>(waveCount));
    std::vector<std::unique_ptr<Wave>> waves;
    for (int i = 0; i < waveCount; ++i) {
      waves.push_back(setup.makeWave(group, i));
      if (options.traced) waves.back()->trace = &trace.waves[static_cast<std::size_t>(i)];
    }
    result.fault = runGroup(group, waves, options, random);
    if (options.traced && !result.fault) options.traced(trace, group.id);
  }
  result.statistics = group.statistics;
  return result;
}

}  // namespace fattn::simulator
