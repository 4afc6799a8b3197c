// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hip/FakeHip.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fattn/Error.h"
#include "runtime/hip/HipApi.h"
#include "simulator/Run.h"

namespace fattn::hip {

struct ihipModule_t {
  std::shared_ptr<const simulator::CodeObject> object;
  std::vector<std::unique_ptr<ihipModuleSymbol_t>> functions;
};
struct ihipModuleSymbol_t {
  const ihipModule_t* module;
  std::string name;
};
struct ihipEvent_t {
  std::optional<std::chrono::steady_clock::time_point> time;
};

}  // namespace fattn::hip

using namespace fattn::hip;
using fattn::test::FakeHip;

namespace {

constexpr std::size_t kMemoryBytes = std::size_t{192} << 30;

/// Calls of several threads come one after the other.
class Turn {
 public:
  Turn() : lock_(mutex()) {}

 private:
  static std::mutex& mutex() {
    static auto* made = new std::mutex;
    return *made;
  }
  std::scoped_lock<std::mutex> lock_;
};

FakeHip& state() {
  static auto* fake = new FakeHip;
  return *fake;
}

struct Memory {
  fattn::simulator::Memory simulated;
  std::map<std::uint64_t, std::vector<std::byte>> blocks;
};
Memory& memory() {
  static auto* made = new Memory;
  return *made;
}

Result begin(const char* function) {
  const int call = state().begun++;
  if (state().failAt >= 0 && (call == state().failAt || (state().failOn && call > state().failAt)))
    return call == state().failAt ? state().failed = function : state().failed, state().failWith;
  auto found = state().results.find(function);
  return found == state().results.end() ? kSuccess : found->second;
}

/// Where bytes of an allocation or of the host lie; nullptr outside of an allocation.
std::byte* place(const void* address, std::size_t bytes) {
  auto number = reinterpret_cast<std::uint64_t>(address);
  if (number >= fattn::simulator::Memory::kBase && number < fattn::simulator::Memory::kEnd)
    return memory().simulated.find(number, bytes, true);
  return static_cast<std::byte*>(const_cast<void*>(address));
}

/// The driver's own, so that what nobody can unload as the GPU is lost is no leak of the process.
std::map<ModuleHandle, std::unique_ptr<ihipModule_t>>& loaded() {
  static auto* made = new std::map<ModuleHandle, std::unique_ptr<ihipModule_t>>;
  return *made;
}

/// The driver's own, too.
std::map<EventHandle, std::unique_ptr<ihipEvent_t>>& events() {
  static auto* made = new std::map<EventHandle, std::unique_ptr<ihipEvent_t>>;
  return *made;
}

int number;  // what handles of streams point at

}  // namespace

extern "C" {

FakeHip* fattnFakeHip() { return &state(); }

Result hipInit(unsigned) {
  const Turn turn;
  return begin("hipInit");
}
Result hipGetDeviceCount(int* count) {
  const Turn turn;
  return *count = state().devices, begin("hipGetDeviceCount");
}
Result hipRuntimeGetVersion(int* version) {
  const Turn turn;
  return *version = state().version, begin("hipRuntimeGetVersion");
}
Result hipGetDevice(int* device) {
  const Turn turn;
  return *device = 0, begin("hipGetDevice");
}
Result hipSetDevice(int) {
  const Turn turn;
  return begin("hipSetDevice");
}
const char* hipGetErrorName(Result result) { return result == kNoDevice ? "hipErrorNoDevice" : "hipErrorOther"; }
const char* hipGetErrorString(Result result) { return result == kNoDevice ? "no ROCm-capable device is detected" : "words"; }
Result hipDeviceGetName(char* name, int bytes, int) {
  const Turn turn;
  return std::strncpy(name, "Fake gfx GPU", static_cast<std::size_t>(bytes)), begin("hipDeviceGetName");
}
Result hipDeviceTotalMem(std::size_t* bytes, int) {
  const Turn turn;
  return *bytes = kMemoryBytes, begin("hipDeviceTotalMem");
}
Result hipDeviceGetAttribute(int* value, int attribute, int) {
  const Turn turn;
  *value = attribute == kMultiprocessorCount ? 304 : 0;
  return begin("hipDeviceGetAttribute");
}
Result hipGetDeviceProperties(void* properties, int) {
  const Turn turn;
  std::memcpy(properties, "Fake gfx GPU", 13);
  std::memcpy(static_cast<char*>(properties) + 1160, state().architecture.c_str(), state().architecture.size() + 1);
  return begin("hipGetDeviceProperties");
}
Result hipMalloc(void** block, std::size_t bytes) {
  const Turn turn;
  if (Result result = begin("hipMalloc"); result != kSuccess) return result;
  if (bytes > kMemoryBytes) return kOutOfMemory;
  std::vector<std::byte> made(bytes);
  std::uint64_t address = memory().simulated.add("an allocation", made);
  memory().blocks.emplace(address, std::move(made));
  ++state().allocations;
  return *block = reinterpret_cast<void*>(address), kSuccess;
}
Result hipFree(void* block) {
  const Turn turn;
  auto found = memory().blocks.find(reinterpret_cast<std::uint64_t>(block));
  if (found == memory().blocks.end()) return kInvalidValue;
  memory().simulated.remove(found->first);
  memory().blocks.erase(found);
  --state().allocations;
  return begin("hipFree");
}
Result hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, StreamHandle) {
  const Turn turn;
  std::byte *into = place(to, bytes), *source = place(from, bytes);
  if (kind != kCopyAnyway || into == nullptr || source == nullptr) return kInvalidValue;
  std::memmove(into, source, bytes);
  return begin("hipMemcpyAsync");
}
Result hipMemsetAsync(void* to, int value, std::size_t bytes, StreamHandle) {
  const Turn turn;
  std::byte* into = place(to, bytes);
  if (into == nullptr) return kInvalidValue;
  std::memset(into, value, bytes);
  return begin("hipMemsetAsync");
}
Result hipModuleLoadData(ModuleHandle* module, const void* image) {
  const Turn turn;
  if (Result result = begin("hipModuleLoadData"); result != kSuccess) return result;
  // An ELF file ends with its section headers.
  std::uint64_t sections = 0;
  std::uint16_t each = 0, count = 0;
  const auto* bytes = static_cast<const std::byte*>(image);
  std::memcpy(&sections, bytes + 40, 8), std::memcpy(&each, bytes + 58, 2), std::memcpy(&count, bytes + 60, 2);
  auto made = std::make_unique<ihipModule_t>();
  try {
    made->object = fattn::simulator::CodeObject::load({bytes, static_cast<std::size_t>(sections) + std::size_t{each} * count});
  } catch (const fattn::Error&) {
    return kInvalidImage;
  }
  if (!state().architecture.starts_with(made->object->chip().name)) return kNoBinaryForGpu;
  ++state().modules;
  *module = made.get();
  loaded().emplace(*module, std::move(made));
  return kSuccess;
}
Result hipModuleUnload(ModuleHandle module) {
  const Turn turn;
  loaded().erase(module);
  --state().modules;
  return begin("hipModuleUnload");
}
Result hipModuleGetFunction(Function* function, ModuleHandle module, const char* name) {
  const Turn turn;
  if (Result result = begin("hipModuleGetFunction"); result != kSuccess) return result;
  module->functions.push_back(std::make_unique<ihipModuleSymbol_t>(ihipModuleSymbol_t{module, name}));
  return *function = module->functions.back().get(), kSuccess;
}
Result hipModuleLaunchKernel(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, StreamHandle, void** parameters, void** extra) {
  const Turn turn;
  if (Result result = begin("hipModuleLaunchKernel"); result != kSuccess) return result;
  if (std::uint64_t{gx} * bx > std::numeric_limits<std::uint32_t>::max()) return kInvalidValue;
  if (shared != 0 || parameters != nullptr) return kInvalidValue;
  std::span<const std::byte> arguments;  // a kernel without any is launched without `extra`
  if (extra != nullptr) {
    if (extra[0] != reinterpret_cast<void*>(kLaunchBlock) || extra[2] != reinterpret_cast<void*>(kLaunchBlockBytes) ||
        extra[4] != reinterpret_cast<void*>(kLaunchBlockEnd))
      return kInvalidValue;
    arguments = {static_cast<const std::byte*>(extra[1]), *static_cast<std::size_t*>(extra[3])};
  }
  state().fault.clear();
  try {
    auto result =
        fattn::simulator::launch(*function->module->object, function->name, arguments, {gx, gy, gz}, {bx, by, bz}, memory().simulated);
    if (result.fault) state().fault = result.fault->text();
  } catch (const fattn::Error& error) {
    state().fault = error.what();
  }
  return state().fault.empty() ? kSuccess : kInvalidValue;
}
Result hipStreamCreateWithFlags(StreamHandle* stream, unsigned flags) {
  const Turn turn;
  if (flags != kStreamNonBlocking) return kInvalidValue;
  if (Result result = begin("hipStreamCreateWithFlags"); result != kSuccess) return result;
  ++state().streams;
  return *stream = reinterpret_cast<StreamHandle>(&number), kSuccess;
}
Result hipStreamDestroy(StreamHandle) {
  const Turn turn;
  return --state().streams, begin("hipStreamDestroy");
}
Result hipStreamSynchronize(StreamHandle) {
  const Turn turn;
  return begin("hipStreamSynchronize");
}
Result hipEventCreate(EventHandle* event) {
  const Turn turn;
  if (Result result = begin("hipEventCreate"); result != kSuccess) return result;
  ++state().events;
  auto made = std::make_unique<ihipEvent_t>();
  *event = made.get();
  events().emplace(*event, std::move(made));
  return kSuccess;
}
Result hipEventDestroy(EventHandle event) {
  const Turn turn;
  events().erase(event);
  --state().events;
  return begin("hipEventDestroy");
}
Result hipEventRecord(EventHandle event, StreamHandle) {
  const Turn turn;
  event->time = std::chrono::steady_clock::now();
  return begin("hipEventRecord");
}
Result hipEventSynchronize(EventHandle) {
  const Turn turn;
  return begin("hipEventSynchronize");
}
Result hipEventElapsedTime(float* ms, EventHandle from, EventHandle to) {
  const Turn turn;
  if (Result result = begin("hipEventElapsedTime"); result != kSuccess) return result;
  if (!from->time || !to->time) return kInvalidHandle;
  *ms = std::chrono::duration<float, std::milli>(*to->time - *from->time).count();
  return kSuccess;
}
}
