// SPDX-License-Identifier: Apache-2.0
#include "runtime/hip/HipDevice.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "fattn/Error.h"
#include "runtime/base/Binary.h"
#include "runtime/base/Log.h"
#include "runtime/gpu/ArgumentLayout.h"
#include "runtime/gpu/DriverLibrary.h"

namespace fattn::hip {
namespace {

StreamHandle handle(Stream stream) { return static_cast<StreamHandle>(stream.native); }

/// "gfx942" of "gfx942:sramecc+:xnack-". Where it stands in HIP's structure differs between versions 5 and 6; it is the one text behind the
/// GPU's name that begins so.
std::string architectureIn(const std::vector<char>& properties) {
  constexpr std::size_t kNameBytes = 256;
  constexpr std::string_view kPrefix = "gfx";
  auto begin = std::search(properties.begin() + kNameBytes, properties.end(), kPrefix.begin(), kPrefix.end());
  auto end = std::find_if(begin, properties.end(), [](char c) { return (c < 'a' || c > 'z') && (c < '0' || c > '9'); });
  return {begin, end};
}

class HipModule final : public Module {
 public:
  HipModule(const HipDevice& device, const compiler::Binary& binary)
      : Module(binary.args.size()),
        device_(device),
        layout_(binary.args),
        entry_(binary.entry),
        threads_(binary.threads),
        registers_(binary.registers),
        localBytes_(binary.spillBytes) {
    const HipRuntime& runtime = device.runtime();
    if (layout_.bytes() > ArgumentLayout::kMaxBytes)
      throw Error(ErrorCode::Unsupported, "kernel '" + entry_ + "' has " + std::to_string(layout_.bytes()) +
                                              " bytes of arguments; a launch takes up to " + std::to_string(ArgumentLayout::kMaxBytes));
    Result result = runtime.api().ModuleLoadData(&module_, binary.bytes.data());
    if (result == kNoBinaryForGpu || result == kInvalidImage)
      throw Error(ErrorCode::Unsupported,
                  device.name() + " (" + device.chip() + ") cannot load the code of kernel '" + entry_ + "', which was compiled for '" +
                      binary.target + "': " + runtime.text(result),
                  "compile it for '" + device.name() + "'");
    runtime.check(result, "load kernel '" + entry_ + "' on " + device.name());
    if (result = runtime.api().ModuleGetFunction(&function_, module_, entry_.c_str()); result != kSuccess) {
      runtime.api().ModuleUnload(module_);
      runtime.check(result, "find kernel '" + entry_ + "' in its code");
    }
  }
  ~HipModule() override {
    try {
      const DeviceScope scope(device_.runtime(), device_.ordinal());
      device_.runtime().api().ModuleUnload(module_);
    } catch (const Error& error) {  // the GPU is gone, and the module with it
      log::write(log::Level::Debug, error.what());
    }
  }
  int registers() const override { return registers_; }
  std::int64_t localBytes() const override { return localBytes_; }
  const HipDevice& device() const { return device_; }
  const ArgumentLayout& layout() const { return layout_; }
  const std::string& entry() const { return entry_; }
  unsigned threads() const { return static_cast<unsigned>(threads_); }
  Function function() const { return function_; }

 private:
  const HipDevice& device_;
  ArgumentLayout layout_;
  std::string entry_;
  int threads_, registers_;
  std::int64_t localBytes_;
  ModuleHandle module_ = nullptr;
  Function function_ = nullptr;
};

class HipEvent final : public Event {
 public:
  explicit HipEvent(const HipDevice& device) : device_(device) {
    const DeviceScope scope(device.runtime(), device.ordinal());
    device.runtime().check(device.runtime().api().EventCreate(&event_), "create an event");
  }
  ~HipEvent() override { device_.runtime().api().EventDestroy(event_); }
  void record(Stream stream) override {
    const DeviceScope scope(device_.runtime(), device_.ordinal());
    device_.runtime().check(device_.runtime().api().EventRecord(event_, handle(stream)), "record an event");
  }
  void synchronize() override { device_.runtime().check(device_.runtime().api().EventSynchronize(event_), "wait for an event"); }
  const HipDevice& device() const { return device_; }
  EventHandle get() const { return event_; }

 private:
  const HipDevice& device_;
  EventHandle event_ = nullptr;
};

std::string text(Grid grid) { return std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z); }

}  // namespace

HipDevice::HipDevice(const HipRuntime& runtime, int ordinal) : runtime_(runtime), ordinal_(ordinal) {
  const HipApi& api = runtime_.api();
  std::array<char, 256> product{};
  runtime_.check(api.DeviceGetName(product.data(), static_cast<int>(product.size()) - 1, ordinal), "read the name of " + name());
  product_ = product.data();
  runtime_.check(api.DeviceTotalMem(&memoryBytes_, ordinal), "read the memory size of " + name());
  runtime_.check(api.DeviceGetAttribute(&multiprocessors_, kMultiprocessorCount, ordinal), "count the units of " + name());
  std::vector<char> properties(8192);  // several times what the structure has in any version
  runtime_.check(api.GetDeviceProperties(properties.data(), ordinal), "read the properties of " + name());
  architecture_ = architectureIn(properties);
}

std::string HipDevice::description() const {
  return product_ + ", " + architecture_ + ", " + std::to_string(multiprocessors_) + " CUs, " + std::to_string(memoryBytes_ >> 30) +
         " GiB, " + driverVersion();
}

std::string HipDevice::driverVersion() const {
  const int version = runtime_.version();
  return "HIP " + std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100);
}

Capabilities HipDevice::capabilities() const {
  // HIP takes less than 2^32 threads along x, and a block has up to 1024.
  constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max(), kMostX = std::numeric_limits<std::uint32_t>::max() / 1024;
  return {.maxGrid = {kMostX, kMost, kMost},
          .memoryBytes = static_cast<std::int64_t>(memoryBytes_),
          .sharedBytes = (architecture_ == "gfx950" ? 160 : 64) << 10,
          .multiprocessors = multiprocessors_,
          .asynchronous = true};
}

void* HipDevice::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const DeviceScope scope(runtime_, ordinal_);
  void* memory = nullptr;
  runtime_.check(runtime_.api().Malloc(&memory, bytes), "allocate " + std::to_string(bytes) + " bytes on " + name());
  return memory;
}

void HipDevice::free(void* memory) {
  if (memory == nullptr) return;
  // Destructors give things back: an exception would end the process. What is left is a caller who gives back what is not his.
  Result result = runtime_.api().Free(memory);
  if (result == kInvalidValue) runtime_.check(result, "free memory of " + name());
  if (result != kSuccess) log::write(log::Level::Debug, name() + " could not free memory: " + runtime_.text(result));
}

void HipDevice::copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  const DeviceScope scope(runtime_, ordinal_);
  runtime_.check(runtime_.api().MemcpyAsync(destination, source, bytes, kCopyAnyway, handle(stream)),
                 "copy " + std::to_string(bytes) + " bytes on " + name());
}

void HipDevice::fill(void* destination, std::uint8_t value, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  const DeviceScope scope(runtime_, ordinal_);
  runtime_.check(runtime_.api().MemsetAsync(destination, value, bytes, handle(stream)),
                 "fill " + std::to_string(bytes) + " bytes on " + name());
}

std::unique_ptr<Module> HipDevice::load(const compiler::Binary& binary) {
  if (binary.target != chip())
    throw Error(ErrorCode::InvalidArgument, name() + " is " + chip() + ", and cannot load code for target '" + binary.target + "'",
                "compile it for '" + name() + "'");
  const DeviceScope scope(runtime_, ordinal_);
  return std::make_unique<HipModule>(*this, binary);
}

void HipDevice::launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream) {
  const auto* loaded = dynamic_cast<const HipModule*>(&module);
  if (loaded == nullptr || &loaded->device() != this)
    throw Error(ErrorCode::InvalidArgument, "a kernel that another device loaded was launched on " + name(),
                "load it on " + name() + " too");
  if (arguments.size() != loaded->slots())
    throw Error(ErrorCode::InvalidArgument, "a launch gives " + std::to_string(arguments.size()) + " arguments to kernel '" +
                                                loaded->entry() + "', which takes " + std::to_string(loaded->slots()));
  const auto [x, y, z] = capabilities().maxGrid;
  if (grid.x < 0 || grid.x > x || grid.y < 0 || grid.y > y || grid.z < 0 || grid.z > z)
    throw Error(ErrorCode::InvalidArgument, "the grid is " + text(grid) + "; on " + name() + " legal extents are 0 to " + text({x, y, z}));
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  alignas(16) std::byte block[ArgumentLayout::kMaxBytes];
  std::size_t bytes = loaded->layout().bytes();
  loaded->layout().pack(arguments, block);
  void* extra[] = {reinterpret_cast<void*>(kLaunchBlock), block, reinterpret_cast<void*>(kLaunchBlockBytes), &bytes,
                   reinterpret_cast<void*>(kLaunchBlockEnd)};
  const DeviceScope scope(runtime_, ordinal_);
  Result result = runtime_.api().ModuleLaunchKernel(loaded->function(), static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                                                    static_cast<unsigned>(grid.z), loaded->threads(), 1, 1, 0, handle(stream), nullptr,
                                                    bytes == 0 ? nullptr : extra);
  if (result != kSuccess) [[unlikely]]
    runtime_.check(result, "launch kernel '" + loaded->entry() + "' (grid " + text(grid) + ", block " + std::to_string(loaded->threads()) +
                               ") on " + name());
}

Stream HipDevice::createStream() {
  const DeviceScope scope(runtime_, ordinal_);
  StreamHandle stream = nullptr;
  runtime_.check(runtime_.api().StreamCreateWithFlags(&stream, kStreamNonBlocking), "create a stream on " + name());
  return {stream};
}

void HipDevice::destroyStream(Stream stream) {
  if (stream.native != nullptr) runtime_.check(runtime_.api().StreamDestroy(handle(stream)), "destroy a stream of " + name());
}

void HipDevice::synchronize(Stream stream) {
  const DeviceScope scope(runtime_, ordinal_);
  runtime_.check(runtime_.api().StreamSynchronize(handle(stream)), "wait for a stream of " + name());
}

std::unique_ptr<Event> HipDevice::createEvent() { return std::make_unique<HipEvent>(*this); }

double HipDevice::elapsedMs(Event& begin, Event& end) {
  const auto *first = dynamic_cast<HipEvent*>(&begin), *last = dynamic_cast<HipEvent*>(&end);
  if (first == nullptr || last == nullptr || &first->device() != this || &last->device() != this)
    throw Error(ErrorCode::InvalidArgument, "an event of another device was given to " + name());
  begin.synchronize();
  end.synchronize();
  float ms = 0;
  const Result result = runtime_.api().EventElapsedTime(&ms, first->get(), last->get());
  if (result == kInvalidHandle)
    throw Error(ErrorCode::InvalidArgument, "the time between two events was asked for before both were recorded: " + runtime_.text(result),
                "call Event::record on each first");
  runtime_.check(result, "read the time between two events");
  return static_cast<double>(ms);
}

System::System(const std::vector<std::string>& libraries) : runtime_(libraries) {
  for (int i = 0; i < runtime_.deviceCount(); ++i) devices_.push_back(std::make_unique<HipDevice>(runtime_, i));
}

System& System::instance() {
  static System* system = [] {
    const char* library = std::getenv("FATTN_HIP_LIBRARY");
    if (library != nullptr && *library != '\0') return new System({library});
    return new System({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"});
  }();
  return *system;
}

int ordinalOf(std::string_view target) {
  return fattn::ordinalOf(target, TargetKind::Hip, "a GPU of AMD's is 'hip' (the first) or 'hip:N', N from 0");
}

HipDevice& System::open(std::string_view target) {
  int ordinal = ordinalOf(target);
  if (ordinal < static_cast<int>(devices_.size())) return *devices_[static_cast<std::size_t>(ordinal)];
  std::string legal;
  for (const auto& device : devices_)
    legal.append(legal.empty() ? "" : "\n  ").append(device->name()).append(": ").append(device->description());
  throw Error(ErrorCode::NoDevice, "this machine has no GPU '" + std::string(target) + "'", "it has\n  " + legal);
}

}  // namespace fattn::hip
