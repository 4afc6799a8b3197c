// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/HostDevice.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <typeinfo>

#include "fattn/Error.h"
#include "fattn/Host.h"
#include "runtime/ClockEvent.h"
#include "runtime/base/Binary.h"
#include "runtime/base/HostLevel.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/TargetName.h"
#include "runtime/host/ObjectLoader.h"
#include "runtime/host/ThreadPool.h"

namespace fattn::host {
namespace {

int availableCores() {
  cpu_set_t set;  // 1024 cores, which is also the most threads we take
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 1024u));
}

int initialThreads() {
  const char* text = std::getenv("FATTN_NUM_THREADS");
  if (text == nullptr || *text == '\0') return availableCores();
  int threads = 0;
  const char* last = text + std::strlen(text);
  auto [end, error] = std::from_chars(text, last, threads);
  if (error != std::errc() || end != last || threads < 1 || threads > ThreadPool::kMaxThreads)
    throw Error(ErrorCode::InvalidArgument,
                "FATTN_NUM_THREADS is '" + std::string(text) + "'; legal values are 1 to " + std::to_string(ThreadPool::kMaxThreads),
                "unset it to use all " + std::to_string(availableCores()) + " cores");
  return threads;
}

std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      if (std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown processor";
}

class HostModule final : public Module {
 public:
  HostModule(std::size_t slots, std::unique_ptr<LoadedObject> object) : Module(slots), object_(std::move(object)) {}
  Program program() const { return object_->program; }
  const ThreadPool::Cost& cost() const { return cost_; }

 private:
  std::unique_ptr<LoadedObject> object_;
  ThreadPool::Cost cost_;
};

// One launch, on the stack of its caller.
struct Work {
  Program program;
  const void* arguments;
  std::int32_t x, y, z;
};

// Programs in order: x is the fastest.
void runPrograms(const void* context, std::int64_t begin, std::int64_t end, void* scratch) {
  const Work& work = *static_cast<const Work*>(context);
  std::int64_t row = begin / work.x;
  std::int32_t grid[6] = {static_cast<std::int32_t>(begin % work.x),
                          static_cast<std::int32_t>(row % work.y),
                          static_cast<std::int32_t>(row / work.y),
                          work.x,
                          work.y,
                          work.z};
  for (std::int64_t i = begin; i < end; ++i) {
    work.program(work.arguments, grid, scratch);
    if (++grid[0] < work.x) continue;
    grid[0] = 0;
    if (++grid[1] < work.y) continue;
    grid[1] = 0;
    ++grid[2];
  }
}

class HostDevice : public Device {
 public:
  HostDevice() : pool_(initialThreads()), processor_(processorName()) {}

  ThreadPool& pool() { return pool_; }

  DeviceKind kind() const override { return DeviceKind::Host; }
  std::string name() const override { return "host"; }
  std::string description() const override {
    int threads = pool_.threads();
    return processor_ + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }
  std::string driverVersion() const override { return "none"; }
  std::string chip() const override { return "host"; }
  Capabilities capabilities() const override {
    constexpr std::int64_t most = INT32_MAX;
    return {.maxGrid = {most, most, most},
            .memoryBytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE),
            .cacheBytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L),
            .multiprocessors = pool_.threads()};
  }

  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    void* memory = bytes > SIZE_MAX - 63 ? nullptr : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == nullptr) throw Error(ErrorCode::OutOfMemory, "the host has no " + std::to_string(bytes) + " bytes of memory left");
    return memory;
  }
  void free(void* memory) override { std::free(memory); }
  void copy(void* destination, const void* source, std::size_t bytes, Stream) override {
    if (bytes != 0) std::memmove(destination, source, bytes);
  }
  void fill(void* destination, std::uint8_t value, std::size_t bytes, Stream) override {
    if (bytes != 0) std::memset(destination, value, bytes);
  }

  std::unique_ptr<Module> load(const compiler::Binary& binary) override {
    if (!parseTarget(binary.target).isHost())
      throw Error(ErrorCode::InvalidArgument, "the host device cannot load code for target '" + binary.target + "'",
                  "compile it for 'host'");
    if (!isRunnable(binary.target))
      throw Error(ErrorCode::Unsupported, "this processor cannot load code for target '" + binary.target + "', whose instructions it lacks",
                  "compile it for one of the targets it runs: " + runnableTargetsText());
    const Busy busy;
    auto object = loadObject(binary.bytes, binary.entry);
    pool_.reserveScratch(static_cast<std::size_t>(std::max<std::int64_t>(binary.scratchBytes, 0)));
    return std::make_unique<HostModule>(binary.args.size(), std::move(object));
  }

  void launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream) override;

  Stream createStream() override { return {}; }
  void destroyStream(Stream) override {}
  void synchronize(Stream) override {}
  std::unique_ptr<Event> createEvent() override { return std::make_unique<ClockEvent>(*this); }
  double elapsedMs(Event& begin, Event& end) override { return ClockEvent::elapsedMs(begin, end, *this); }

 private:
  ThreadPool pool_;
  std::string processor_;
};

void HostDevice::launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream) {
  if (stream.native != nullptr)
    throw Error(ErrorCode::InvalidArgument, "the host has no streams, but a launch names one", "pass fattn::Stream{}");
  if (typeid(module) != typeid(HostModule))
    throw Error(ErrorCode::InvalidArgument, "a kernel that another device loaded was launched on host", "load it on host too");
  if (arguments.size() != module.slots())
    throw Error(ErrorCode::InvalidArgument, "a launch gives " + std::to_string(arguments.size()) + " arguments to a kernel that takes " +
                                                std::to_string(module.slots()));
  std::int64_t count = 0;
  auto legal = [](std::int64_t extent) { return extent >= 0 && extent <= INT32_MAX; };
  if (!legal(grid.x) || !legal(grid.y) || !legal(grid.z) || __builtin_mul_overflow(grid.x * grid.y, grid.z, &count))
    throw Error(ErrorCode::InvalidArgument, "the grid is " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                                                std::to_string(grid.z) + "; legal extents are 0 to 2147483647, 2^63 programs in all");
  const auto& loaded = static_cast<const HostModule&>(module);
  Work work{loaded.program(), arguments.data(), static_cast<std::int32_t>(grid.x), static_cast<std::int32_t>(grid.y),
            static_cast<std::int32_t>(grid.z)};
  pool_.run(count, runPrograms, &work, loaded.cost());
}

// A forked child has one thread only; without this its first launch would wait for workers that are not there.
HostDevice* makeDevice() {
  auto made = std::make_unique<HostDevice>();
  ThreadPool& pool = made->pool();
  atFork([&pool] { pool.configuration().lock(); }, [&pool] { pool.configuration().unlock(); },
         [&pool] {
           pool.forgetThreads();
           pool.configuration().unlock();
         });
  return made.release();
}

HostDevice& instance() {
  static constinit Immortal<HostDevice> device;
  return device.get(makeDevice);
}

}  // namespace

void requireTarget(std::string_view target) {
  if (!isRunnable(target))
    throw Error(ErrorCode::NoDevice, "this processor does not run code for target '" + std::string(target) + "'",
                "targets it runs: " + runnableTargetsText());
}

Device& device() { return instance(); }
int numThreads() { return instance().pool().threads(); }
void setNumThreads(int threads) { instance().pool().setThreads(threads); }

}  // namespace fattn::host
