// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated/SimulatedDevice.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>

#include "fattn/Error.h"
#include "runtime/ClockEvent.h"
#include "runtime/base/Binary.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/TargetName.h"
#include "runtime/simulated/Modelled.h"
#include "runtime/simulated/SimulatedModule.h"
#include "simulator/Estimate.h"
#include "simulator/Run.h"

namespace fattn::simulated {
namespace {

using simulator::CodeObject;
using simulator::Memory;

std::uint64_t addressOf(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

/// A reading of the time that launches take by the model, in microseconds.
class ModelledEvent final : public Event {
 public:
  ModelledEvent(const Device& device, const double& clock, std::mutex& mutex) : device(device), clock_(clock), mutex_(mutex) {}
  void record(Stream) override {
    const std::lock_guard lock(mutex_);
    time = clock_;
  }
  void synchronize() override {}

  const Device& device;
  std::optional<double> time;

 private:
  const double& clock_;
  std::mutex& mutex_;
};

class SimulatedDevice final : public Device {
 public:
  SimulatedDevice(const simulator::Chip& chip, bool modelled) : chip_(chip), modelled_(modelled) {}

  DeviceKind kind() const override { return DeviceKind::Simulated; }
  std::string name() const override { return fmt::format("{}:{}", modelled_ ? "modelled" : "simulated", chip_.name); }
  std::string description() const override {
    const simulator::Pace& pace = simulator::paceOf(chip_);
    if (modelled_) return fmt::format("{} as in an {}, by a model of time", chip_.name, pace.product);
    return fmt::format("{}, simulated on the CPU", chip_.name);
  }
  std::string driverVersion() const override { return "none"; }
  std::string chip() const override { return fmt::format("amd:{}", chip_.name); }
  Capabilities capabilities() const override {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max();  // gfx12 hands y and z to a wave as halves of a register
    return {.maxGrid = {std::numeric_limits<std::int32_t>::max(), kMost, kMost},
            .memoryBytes = std::int64_t{1} << 40,
            .sharedBytes = chip_.ldsBytes,
            .multiprocessors = modelled_ ? simulator::paceOf(chip_).computeUnits : 1,
            .modelled = modelled_};
  }

  void* allocate(std::size_t bytes) override;
  void free(void* memory) override;
  void copy(void* destination, const void* source, std::size_t bytes, Stream) override {
    if (bytes != 0) std::memmove(place(destination, bytes, true), place(source, bytes, false), bytes);
  }
  void fill(void* destination, std::uint8_t value, std::size_t bytes, Stream) override {
    if (bytes != 0) std::memset(place(destination, bytes, true), value, bytes);
  }

  std::unique_ptr<Module> load(const compiler::Binary& binary) override;
  void launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream) override;

  Stream createStream() override { return {}; }
  void destroyStream(Stream) override {}
  void synchronize(Stream) override {}
  std::unique_ptr<Event> createEvent() override {
    if (modelled_) return std::make_unique<ModelledEvent>(*this, clock_, mutex_);
    return std::make_unique<ClockEvent>(*this);
  }
  double elapsedMs(Event& begin, Event& end) override;

  std::mutex& mutex() { return mutex_; }
  std::shared_ptr<const ModelledLaunch> lastModelled() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  void* place(const void* address, std::size_t bytes, bool write);
  Memory memoryFor(const SimulatedModule& module, std::span<const std::uint64_t> arguments);
  simulator::LaunchOptions nextOrder();
  void run(const SimulatedModule& module, const Grid& grid, std::span<const std::uint64_t> arguments,
           const simulator::LaunchOptions& options);
  void model(const SimulatedModule& module, const Grid& grid, std::span<const std::uint64_t> arguments);
  int residentOrThrow(const SimulatedModule& module) const;
  double memoryTime(const SimulatedModule& module, std::span<const std::uint64_t> arguments);

  const simulator::Chip& chip_;
  const bool modelled_;
  double clock_ = 0;  ///< microseconds that modelled launches took
  std::shared_ptr<const ModelledLaunch> last_;
  std::mutex mutex_;
  Memory memory_;
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes;
  };
  std::map<std::uint64_t, Block> blocks_;
  std::uint64_t allocations_ = 0;
  std::atomic<std::uint64_t> launches_ = 0;
};

void* SimulatedDevice::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  // Before the host is asked, which may promise more than it has and fails at the first use of it.
  if (bytes > Memory::kMostBytes)
    throw Error(ErrorCode::OutOfMemory,
                fmt::format("{} cannot allocate {} bytes; an allocation has at most {}", name(), bytes, Memory::kMostBytes));
  std::unique_ptr<std::byte[]> block;
  try {
    block = std::make_unique_for_overwrite<std::byte[]>(bytes);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::OutOfMemory, fmt::format("the host has no {} bytes of memory left for {}", bytes, name()));
  }
  std::memset(block.get(), 0xff, bytes);
  const std::lock_guard lock(mutex_);
  std::uint64_t address = memory_.add(fmt::format("allocation {}", ++allocations_), {block.get(), bytes});
  blocks_.emplace(address, Block{std::move(block), bytes});
  return reinterpret_cast<void*>(address);
}

void SimulatedDevice::free(void* memory) {
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  memory_.remove(addressOf(memory));
  blocks_.erase(addressOf(memory));
}

/// Where bytes of the host or of an allocation lie.
void* SimulatedDevice::place(const void* address, std::size_t bytes, bool write) {
  if (addressOf(address) < Memory::kBase || addressOf(address) >= Memory::kEnd) return const_cast<void*>(address);
  const std::lock_guard lock(mutex_);
  if (std::byte* found = memory_.find(addressOf(address), bytes, write)) return found;
  throw Error(ErrorCode::InvalidArgument, fmt::format("a copy on {} {}", name(), memory_.explain(addressOf(address), bytes, write)));
}

std::unique_ptr<Module> SimulatedDevice::load(const compiler::Binary& binary) {
  if (binary.target != chip())
    throw Error(ErrorCode::InvalidArgument, fmt::format("{} cannot load code for target '{}'", name(), binary.target),
                fmt::format("compile it for '{}'", chip()));
  const Busy busy;
  auto object = CodeObject::load(std::as_bytes(std::span(binary.bytes)));
  if (&object->chip() != &chip_)
    throw Error(ErrorCode::InvalidArgument, fmt::format("{} cannot load a code object for {}", name(), object->chip().name));
  return std::make_unique<SimulatedModule>(binary, std::move(object));
}

/// The memory as it is, with buffers that the kernel's arguments point into under their names.
Memory SimulatedDevice::memoryFor(const SimulatedModule& module, std::span<const std::uint64_t> arguments) {
  std::unique_lock lock(mutex_);
  Memory memory = memory_;
  lock.unlock();
  std::map<std::string*, std::string> names;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const compiler::ArgInfo& argument = module.binary().args[i];
    std::string* name = argument.isPointer ? memory.nameAt(arguments[i]) : nullptr;
    if (name != nullptr && !argument.name.empty()) names[name] += (names[name].empty() ? "" : ", ") + argument.name;
  }
  for (auto& [name, named] : names) *name = fmt::format("{}, that of {}", *name, named);
  return memory;
}

simulator::LaunchOptions SimulatedDevice::nextOrder() {
  using Order = simulator::LaunchOptions::Order;
  static constexpr Order kOrders[] = {Order::Forward, Order::Reversed, Order::Random};
  std::uint64_t number = launches_.fetch_add(1, std::memory_order_relaxed);
  return {.order = kOrders[number % std::size(kOrders)], .seed = number};
}

void SimulatedDevice::launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream) {
  if (stream.native != nullptr)
    throw Error(ErrorCode::InvalidArgument, fmt::format("{} has no streams, but a launch names one", name()), "pass fattn::Stream{}");
  const auto* loaded = dynamic_cast<const SimulatedModule*>(&module);
  if (loaded == nullptr || &loaded->object().chip() != &chip_)
    throw Error(ErrorCode::InvalidArgument, fmt::format("a kernel that another device loaded was launched on {}", name()),
                fmt::format("load it on {} too", name()));
  if (arguments.size() != loaded->slots())
    throw Error(ErrorCode::InvalidArgument, fmt::format("a launch gives {} arguments to kernel '{}', which takes {}", arguments.size(),
                                                        loaded->binary().entry, loaded->slots()));
  const auto [x, y, z] = capabilities().maxGrid;
  if (grid.x < 0 || grid.x > x || grid.y < 0 || grid.y > y || grid.z < 0 || grid.z > z)
    throw Error(ErrorCode::InvalidArgument, fmt::format("the grid is {} x {} x {}; on {} legal extents are 0 to {} x {} x {}", grid.x,
                                                        grid.y, grid.z, name(), x, y, z));
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  modelled_ ? model(*loaded, grid, arguments) : run(*loaded, grid, arguments, nextOrder());
}

simulator::Estimate::Place placeOf(const Grid& grid) {
  return {static_cast<std::uint32_t>(grid.x), static_cast<std::uint32_t>(grid.y), static_cast<std::uint32_t>(grid.z)};
}

void SimulatedDevice::run(const SimulatedModule& module, const Grid& grid, std::span<const std::uint64_t> arguments,
                          const simulator::LaunchOptions& options) {
  const simulator::LaunchResult result =
      simulator::launch(module.object(), module.binary().entry, module.pack(arguments), placeOf(grid),
                        {static_cast<std::uint32_t>(module.binary().threads), 1, 1}, memoryFor(module, arguments), options);
  if (result.fault)
    throw Error(ErrorCode::DeviceError, fmt::format("kernel '{}' on {}: {}", module.binary().entry, name(), result.fault->text()));
}

/// Runs samples of the workgroups, and lets the clock go on by what the whole launch takes.
void SimulatedDevice::model(const SimulatedModule& module, const Grid& grid, std::span<const std::uint64_t> arguments) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<const ModelledLaunch>& known = module.modelled(grid, arguments);
  if (!known) {
    lock.unlock();
    simulator::Estimate estimate(chip_, module.timed(), placeOf(grid), residentOrThrow(module), module.binary().dieOrder);
    simulator::LaunchOptions options = nextOrder();
    options.only = estimate.samples();
    options.traced = [&](const simulator::Trace& trace, const simulator::Estimate::Place& place) { estimate.add(trace, place); };
    run(module, grid, arguments, options);
    auto launch = std::make_shared<ModelledLaunch>(describe(module, estimate));
    launch->memoryUs = memoryTime(module, arguments);
    launch->us = std::max(estimate.microseconds(), launch->memoryUs);
    lock.lock();
    known = std::move(launch);
  }
  last_ = known;
  clock_ += known->us;
}

int SimulatedDevice::residentOrThrow(const SimulatedModule& module) const {
  if (const int resident = module.residentBlocks(); resident > 0) return resident;
  throw Error(ErrorCode::Unsupported, fmt::format("no compute unit of {} has the registers for the {} waves of kernel '{}'", chip_.name,
                                                  module.waves(), module.binary().entry));
}

/// What memory takes to move each allocation once that the arguments point into, whose operands they are.
double SimulatedDevice::memoryTime(const SimulatedModule& module, std::span<const std::uint64_t> arguments) {
  const std::lock_guard lock(mutex_);
  std::set<std::uint64_t> counted;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!module.binary().args[i].isPointer) continue;
    auto block = blocks_.upper_bound(arguments[i]);
    if (block == blocks_.begin()) continue;
    --block;
    if (arguments[i] < block->first + block->second.bytes && counted.insert(block->first).second) bytes += block->second.bytes;
  }
  return static_cast<double>(bytes) / (simulator::paceOf(chip_).gigabytes * 1e3);
}

double SimulatedDevice::elapsedMs(Event& begin, Event& end) {
  if (!modelled_) return ClockEvent::elapsedMs(begin, end, *this);
  const auto *first = dynamic_cast<const ModelledEvent*>(&begin), *last = dynamic_cast<const ModelledEvent*>(&end);
  if (first == nullptr || last == nullptr || &first->device != this || &last->device != this)
    throw Error(ErrorCode::InvalidArgument, "an event of another device was given to " + name());
  if (!first->time || !last->time)
    throw Error(ErrorCode::InvalidArgument, "the time between two events was asked for before both were recorded",
                "call Event::record on each first");
  return (*last->time - *first->time) * 1e-3;
}

SimulatedDevice* make(const simulator::Chip& chip, bool modelled) {
  auto device = std::make_unique<SimulatedDevice>(chip, modelled);
  std::mutex& mutex = device->mutex();
  atFork([&mutex] { mutex.lock(); }, [&mutex] { mutex.unlock(); }, [&mutex] { mutex.unlock(); });
  return device.release();
}

}  // namespace

std::shared_ptr<const ModelledLaunch> lastModelled(Device& device) {
  auto* simulated = dynamic_cast<SimulatedDevice*>(&device);
  return simulated == nullptr ? nullptr : simulated->lastModelled();
}

Device& open(std::string_view target) {
  const TargetName name = parseTarget(target);
  const bool modelled = name.kind == TargetKind::Modelled, isOurs = modelled || name.kind == TargetKind::Simulated;
  const simulator::Chip* chip = isOurs ? simulator::findChip(name.part) : nullptr;
  if (chip == nullptr)
    throw Error(ErrorCode::InvalidArgument, fmt::format("there is no target '{}'", target),
                fmt::format("chips that are simulated are {}: '{}:gfx942'", simulator::chipNames(), modelled ? "modelled" : "simulated"));
  struct Devices {
    std::map<std::pair<std::string_view, bool>, std::unique_ptr<SimulatedDevice>> byName;
  };
  static constinit Immortal<Devices> devices;
  Devices& all = devices.get([] {
    auto made = std::make_unique<Devices>();
    for (const simulator::Chip& one : simulator::chips())
      for (bool isModelled : {false, true}) made->byName[{one.name, isModelled}].reset(make(one, isModelled));
    return made.release();
  });
  return *all.byName.at({chip->name, modelled});
}

}  // namespace fattn::simulated
