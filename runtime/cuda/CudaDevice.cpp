// SPDX-License-Identifier: Apache-2.0
// The device's memory, streams and events; Launch.cpp has the launch.
#include "runtime/cuda/CudaDevice.h"

#include <cstdio>
#include <fstream>

#include "fattn/Error.h"
#include "runtime/base/Log.h"

namespace fattn::cuda {
namespace {

// Memory that the pool keeps for the next allocation instead of giving it back at every synchronization.
constexpr std::uint64_t kPoolKeepsBytes = 1 << 30;

Address address(const void* memory) { return reinterpret_cast<Address>(memory); }
StreamHandle handle(Stream stream) { return static_cast<StreamHandle>(stream.native); }

std::string gibibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(CudaDevice& device) : device_(device) {
    ContextScope scope(device_.driver(), device_.context());
    if (Result result = device_.driver().api().EventCreate(&event_, 0); result != kSuccess) device_.fail(result, "create an event");
  }
  ~CudaEvent() override {
    try {
      ContextScope scope(device_.driver(), device_.context());
      device_.driver().api().EventDestroy(event_);
    } catch (const Error& error) {  // the context is gone, and the event with it
      log::write(log::Level::Debug, error.what());
    }
  }
  void record(Stream stream) override {
    ContextScope scope(device_.driver(), device_.context());
    if (Result result = device_.driver().api().EventRecord(event_, handle(stream)); result != kSuccess)
      device_.fail(result, "record an event");
  }
  void synchronize() override {
    ContextScope scope(device_.driver(), device_.context());
    if (Result result = device_.driver().api().EventSynchronize(event_); result != kSuccess) device_.fail(result, "wait for an event");
  }
  const CudaDevice& device() const { return device_; }
  EventHandle get() const { return event_; }

 private:
  CudaDevice& device_;
  EventHandle event_ = nullptr;
};

}  // namespace

CudaDevice::CudaDevice(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal), counters_(driver) {
  const DriverApi& api = driver_.api();
  driver_.check(api.DeviceGet(&device_, ordinal), "open " + name());
  char text[256] = "";
  driver_.check(api.DeviceGetName(text, sizeof(text) - 1, device_), "read the name of " + name());
  attributes_.name = text;
  driver_.check(api.DeviceTotalMem(&attributes_.memoryBytes, device_), "read the memory size of " + name());
  // A driver that does not know an attribute leaves it 0.
  auto read = [&](int attribute) {
    int value = 0;
    return api.DeviceGetAttribute(&value, attribute, device_) == kSuccess ? value : 0;
  };
  attributes_.capability = 10 * read(kAttributeCapabilityMajor) + read(kAttributeCapabilityMinor);
  attributes_.maxGrid = {read(kAttributeMaxGridX), read(kAttributeMaxGridY), read(kAttributeMaxGridZ)};
  attributes_.maxThreadsPerBlock = read(kAttributeMaxThreadsPerBlock);
  attributes_.multiprocessors = read(kAttributeMultiprocessors);
  attributes_.sharedBytesPerBlock = read(kAttributeSharedBytesPerBlockOptin);
  attributes_.sharedBytesPerMultiprocessor = read(kAttributeSharedBytesPerMultiprocessor);
  attributes_.l2Bytes = read(kAttributeL2Bytes);
  attributes_.clockKHz = read(kAttributeClockRate);
  attributes_.memoryClockKHz = read(kAttributeMemoryClockRate);
  attributes_.memoryBusBits = read(kAttributeMemoryBusWidth);
  attributes_.memoryPools = read(kAttributeMemoryPools) != 0 && api.MemPoolCreate && api.MemPoolDestroy && api.MemPoolSetAttribute &&
                            api.MemPoolTrimTo && api.MemAllocFromPoolAsync && api.MemFreeAsync;
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  const DriverApi& api = driver_.api();
  try {
    ContextScope scope(driver_, context_);
    counters_.free();
    if (poolStream_ != nullptr) api.StreamDestroy(poolStream_);
    if (pool_ != nullptr) api.MemPoolDestroy(pool_);
  } catch (const Error& error) {  // the context is gone, and all that was in it
    log::write(log::Level::Debug, error.what());
  }
  api.PrimaryCtxRelease(device_);
}

std::string CudaDevice::description() const {
  return attributes_.name + ", sm_" + std::to_string(attributes_.capability) + ", " + std::to_string(attributes_.multiprocessors) +
         " SMs, " + gibibytes(attributes_.memoryBytes) + ", driver for CUDA " + cudaVersion(driver_.version());
}

// The number of the CUDA version is shared by many releases of the driver, whose assemblers differ; the kernel module tells the release.
std::string CudaDevice::driverVersion() const {
  std::string text = "CUDA " + cudaVersion(driver_.version()), release;
  if (std::ifstream file("/sys/module/nvidia/version"); file >> release) text += ", " + release.substr(0, 40);
  return text;
}

Capabilities CudaDevice::capabilities() const {
  return {.maxGrid = {attributes_.maxGrid[0], attributes_.maxGrid[1], attributes_.maxGrid[2]},
          .memoryBytes = static_cast<std::int64_t>(attributes_.memoryBytes),
          .sharedBytes = attributes_.sharedBytesPerBlock,
          .cacheBytes = attributes_.l2Bytes,
          .multiprocessors = attributes_.multiprocessors,
          .asynchronous = true};
}

Context CudaDevice::context() {
  Context context = context_.load(std::memory_order_acquire);
  if (context != nullptr) return context;
  std::scoped_lock lock(mutex_);
  if (context_ == nullptr) {
    if (Result result = driver_.api().PrimaryCtxRetain(&context, device_); result != kSuccess)
      fail(result, "open the primary context of " + name());
    context_.store(context, std::memory_order_release);
  }
  return context_;
}

void CudaDevice::makeCounters() {
  std::scoped_lock lock(mutex_);
  counters_.make();
}

void CudaDevice::makePool() {
  std::scoped_lock lock(mutex_);
  if (pool_ != nullptr) return;
  const DriverApi& api = driver_.api();
  // A pool of our own: the device's default one belongs to the whole process, and so do its settings.
  PoolProperties properties{.locationId = device_};
  MemoryPool pool = nullptr;
  std::uint64_t keep = kPoolKeepsBytes;
  if (poolStream_ == nullptr)
    if (Result result = api.StreamCreate(&poolStream_, kStreamNonBlocking); result != kSuccess)
      fail(result, "create a stream for allocations");
  if (Result result = api.MemPoolCreate(&pool, &properties); result != kSuccess) fail(result, "create a memory pool");
  if (Result result = api.MemPoolSetAttribute(pool, kPoolReleaseThreshold, &keep); result != kSuccess) {
    api.MemPoolDestroy(pool);
    fail(result, "set up a memory pool");
  }
  pool_.store(pool, std::memory_order_release);
}

Result CudaDevice::allocateOnce(Address& memory, std::size_t bytes) {
  const DriverApi& api = driver_.api();
  if (!attributes_.memoryPools) return api.MemAlloc(&memory, bytes);
  Result result = api.MemAllocFromPoolAsync(&memory, bytes, pool_, poolStream_);
  if (result != kSuccess) return result;
  // Whoever uses the memory does so in a stream of his own, so it has to be there already.
  result = api.StreamSynchronize(poolStream_);
  if (result != kSuccess) api.MemFreeAsync(memory, poolStream_);
  return result;
}

void* CudaDevice::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const DriverApi& api = driver_.api();
  ContextScope scope(driver_, context());
  if (attributes_.memoryPools && pool_.load(std::memory_order_acquire) == nullptr) makePool();
  Address memory = 0;
  Result result = allocateOnce(memory, bytes);
  if (result == kOutOfMemory && attributes_.memoryPools) {  // what the pool keeps may be in too small pieces
    api.StreamSynchronize(poolStream_);
    api.MemPoolTrimTo(pool_, 0);
    result = allocateOnce(memory, bytes);
  }
  if (result != kSuccess) fail(result, "allocate " + std::to_string(bytes) + " bytes");
  return reinterpret_cast<void*>(memory);
}

// Destructors give things back: an exception would end the process, and hide why the driver failed before. With a lost context it is all
// gone already. What is left is a caller who gives back what is not his.
void CudaDevice::finish(Result result, const char* doing) const {
  if (result == kSuccess) return;
  if (result == kInvalidValue || result == kInvalidHandle) fail(result, doing);
  log::write(log::Level::Debug, name() + " could not " + doing + ": " + driver_.text(result));
}

// The result of a call in the device's context; that of entering it where that fails.
template <typename Call>
Result CudaDevice::inContext(Call call) try {
  ContextScope scope(driver_, context());
  return call();
} catch (const Error& error) {
  log::write(log::Level::Debug, error.what());
  return kContextIsDestroyed;
}

void CudaDevice::free(void* memory) {
  if (memory == nullptr) return;
  const DriverApi& api = driver_.api();
  const Result result =
      inContext([&] { return attributes_.memoryPools ? api.MemFreeAsync(address(memory), poolStream_) : api.MemFree(address(memory)); });
  finish(result, "free memory");
}

void CudaDevice::copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  ContextScope scope(driver_, context());
  Result result = driver_.api().MemcpyAsync(address(destination), address(source), bytes, handle(stream));
  if (result != kSuccess) fail(result, "copy " + std::to_string(bytes) + " bytes");
}

void CudaDevice::fill(void* destination, std::uint8_t value, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  ContextScope scope(driver_, context());
  Result result = driver_.api().MemsetD8Async(address(destination), value, bytes, handle(stream));
  if (result != kSuccess) fail(result, "fill " + std::to_string(bytes) + " bytes");
}

std::unique_ptr<Module> CudaDevice::load(const compiler::Binary& binary) {
  ContextScope scope(driver_, context());
  return std::make_unique<CudaModule>(*this, binary);
}

Stream CudaDevice::createStream() {
  ContextScope scope(driver_, context());
  StreamHandle stream = nullptr;
  // A stream that does not wait for the default stream, nor that for it: each is in order by itself, as on other devices.
  if (Result result = driver_.api().StreamCreate(&stream, kStreamNonBlocking); result != kSuccess) fail(result, "create a stream");
  return {stream};
}

void CudaDevice::destroyStream(Stream stream) {
  if (stream.native == nullptr) return;
  const Result result = inContext([&] { return driver_.api().StreamDestroy(handle(stream)); });
  finish(result, "destroy a stream");
}

void CudaDevice::synchronize(Stream stream) {
  ContextScope scope(driver_, context());
  if (Result result = driver_.api().StreamSynchronize(handle(stream)); result != kSuccess) fail(result, "wait for a stream");
}

std::unique_ptr<Event> CudaDevice::createEvent() { return std::make_unique<CudaEvent>(*this); }

double CudaDevice::elapsedMs(Event& begin, Event& end) {
  auto *first = dynamic_cast<CudaEvent*>(&begin), *last = dynamic_cast<CudaEvent*>(&end);
  if (first == nullptr || last == nullptr || &first->device() != this || &last->device() != this)
    throw Error(ErrorCode::InvalidArgument, "an event of another device was given to " + name());
  begin.synchronize();
  end.synchronize();
  ContextScope scope(driver_, context());
  float milliseconds = 0;
  Result result = driver_.api().EventElapsedTime(&milliseconds, first->get(), last->get());
  if (result == kInvalidHandle)
    throw Error(ErrorCode::InvalidArgument, "the time between two events was asked for before both were recorded: " + driver_.text(result),
                "call Event::record on each first");
  if (result != kSuccess) fail(result, "read the time between two events");
  return static_cast<double>(milliseconds);
}

void CudaDevice::fail(Result result, const std::string& doing) const {
  std::string what = "could not " + doing + " on " + name() + ", " + attributes_.name + ": " + driver_.text(result);
  if (isSticky(result))
    throw Error(ErrorCode::DeviceError, name() + " is lost: " + what + "; " + recentLaunches(),
                "the GPU's context must be recreated, which takes a new process: every later call in this one fails the same way; "
                "compute-sanitizer names the instruction that did it");
  if (result != kOutOfMemory) {
    driver_.fail(result, doing + " on " + name() + ", " + attributes_.name);
  }
  std::size_t free = 0, total = 0;
  if (driver_.api().MemGetInfo(&free, &total) == kSuccess)
    what.append("; ").append(std::to_string(free)).append(" of its ").append(std::to_string(total)).append(" bytes of memory are free");
  throw Error(ErrorCode::OutOfMemory, what);
}

const KernelName* CudaDevice::intern(KernelName kernel) {
  std::scoped_lock lock(mutex_);
  return &*kernels_.insert(std::move(kernel)).first;
}

}  // namespace fattn::cuda
