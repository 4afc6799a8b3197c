// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated/SimulatedDevice.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <new>

#include "fattn/Error.h"
#include "runtime/ClockEvent.h"
#include "runtime/base/Binary.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/TargetName.h"
#include "simulator/Run.h"

namespace fattn::simulated {
namespace {

using simulator::CodeObject;
using simulator::Memory;

std::uint64_t addressOf(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

class SimulatedModule final : public Module {
 public:
  SimulatedModule(const compiler::Binary& binary, std::shared_ptr<const CodeObject> object)
      : Module(binary.args.size()), binary_(binary), object_(std::move(object)) {
    binary_.bytes.clear();
    for (const simulator::KernelArgument& argument : kernel().arguments)
      if (!argument.isHidden()) places_.emplace_back(argument.offset, std::min(argument.size, 8U));
    if (places_.size() != slots())
      throw Error(ErrorCode::InvalidArgument, fmt::format("the code of kernel '{}' takes {} arguments, and its binary lists {}",
                                                          binary.entry, places_.size(), slots()));
  }

  const simulator::Kernel& kernel() const { return object_->kernel(binary_.entry); }
  const CodeObject& object() const { return *object_; }
  const compiler::Binary& binary() const { return binary_; }
  int registers() const override { return binary_.registers; }
  std::int64_t localBytes() const override { return kernel().scratchBytes; }

  std::vector<std::byte> pack(std::span<const std::uint64_t> slots) const {
    std::vector<std::byte> bytes(kernel().explicitBytes());
    for (std::size_t i = 0; i < slots.size(); ++i) std::memcpy(bytes.data() + places_[i].first, &slots[i], places_[i].second);
    return bytes;
  }

 private:
  compiler::Binary binary_;
  std::shared_ptr<const CodeObject> object_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;  // of each argument: offset and bytes
};

class SimulatedDevice final : public Device {
 public:
  explicit SimulatedDevice(const simulator::Chip& chip) : chip_(chip) {}

  DeviceKind kind() const override { return DeviceKind::Simulated; }
  std::string name() const override { return fmt::format("simulated:{}", chip_.name); }
  std::string description() const override { return fmt::format("{}, simulated on the CPU", chip_.name); }
  std::string driverVersion() const override { return "none"; }
  std::string chip() const override { return fmt::format("amd:{}", chip_.name); }
  Capabilities capabilities() const override {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max();  // gfx12 hands y and z to a wave as halves of a register
    return {.maxGrid = {std::numeric_limits<std::int32_t>::max(), kMost, kMost},
            .memoryBytes = std::int64_t{1} << 40,
            .sharedBytes = chip_.ldsBytes,
            .multiprocessors = 1};
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
  std::unique_ptr<Event> createEvent() override { return std::make_unique<ClockEvent>(*this); }
  double elapsedMs(Event& begin, Event& end) override { return ClockEvent::elapsedMs(begin, end, *this); }

  std::mutex& mutex() { return mutex_; }

 private:
  void* place(const void* address, std::size_t bytes, bool write);
  Memory memoryFor(const SimulatedModule& module, std::span<const std::uint64_t> arguments);
  simulator::LaunchOptions nextOrder();

  const simulator::Chip& chip_;
  std::mutex mutex_;
  Memory memory_;
  std::map<std::uint64_t, std::unique_ptr<std::byte[]>> blocks_;
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
  blocks_.emplace(address, std::move(block));
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
  const simulator::LaunchResult result =
      simulator::launch(loaded->object(), loaded->binary().entry, loaded->pack(arguments),
                        {static_cast<std::uint32_t>(grid.x), static_cast<std::uint32_t>(grid.y), static_cast<std::uint32_t>(grid.z)},
                        {static_cast<std::uint32_t>(loaded->binary().threads), 1, 1}, memoryFor(*loaded, arguments), nextOrder());
  if (result.fault)
    throw Error(ErrorCode::DeviceError, fmt::format("kernel '{}' on {}: {}", loaded->binary().entry, name(), result.fault->text()));
}

SimulatedDevice* make(const simulator::Chip& chip) {
  auto device = std::make_unique<SimulatedDevice>(chip);
  std::mutex& mutex = device->mutex();
  atFork([&mutex] { mutex.lock(); }, [&mutex] { mutex.unlock(); }, [&mutex] { mutex.unlock(); });
  return device.release();
}

}  // namespace

Device& open(std::string_view target) {
  const TargetName name = parseTarget(target);
  const simulator::Chip* chip = name.kind == TargetKind::Simulated ? simulator::findChip(name.part) : nullptr;
  if (chip == nullptr)
    throw Error(ErrorCode::InvalidArgument, fmt::format("there is no target '{}'", target),
                fmt::format("chips that are simulated are {}: 'simulated:gfx942'", simulator::chipNames()));
  struct Devices {
    std::map<std::string_view, std::unique_ptr<SimulatedDevice>> byName;
  };
  static constinit Immortal<Devices> devices;
  Devices& all = devices.get([] {
    auto made = std::make_unique<Devices>();
    for (const simulator::Chip& one : simulator::chips()) made->byName[one.name].reset(make(one));
    return made.release();
  });
  return *all.byName.at(chip->name);
}

}  // namespace fattn::simulated
