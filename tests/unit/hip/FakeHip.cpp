// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hip/FakeHip.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
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

}  // namespace fattn::hip

using namespace fattn::hip;
using fattn::test::FakeHip;

namespace {

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

int number;  // what handles of streams and events point at

}  // namespace

extern "C" {

FakeHip* fattnFakeHip() { return &state(); }

Result hipInit(unsigned) { return begin("hipInit"); }
Result hipGetDeviceCount(int* count) { return *count = state().devices, begin("hipGetDeviceCount"); }
Result hipRuntimeGetVersion(int* version) { return *version = state().version, begin("hipRuntimeGetVersion"); }
Result hipGetDevice(int* device) { return *device = 0, begin("hipGetDevice"); }
Result hipSetDevice(int) { return begin("hipSetDevice"); }
const char* hipGetErrorName(Result result) { return result == kNoDevice ? "hipErrorNoDevice" : "hipErrorOther"; }
const char* hipGetErrorString(Result result) { return result == kNoDevice ? "no ROCm-capable device is detected" : "words"; }
Result hipDeviceGetName(char* name, int bytes, int) {
  return std::strncpy(name, "Fake gfx GPU", static_cast<std::size_t>(bytes)), begin("hipDeviceGetName");
}
Result hipDeviceTotalMem(std::size_t* bytes, int) { return *bytes = std::size_t{192} << 30, begin("hipDeviceTotalMem"); }
Result hipDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == kMultiprocessorCount ? 304 : 0;
  return begin("hipDeviceGetAttribute");
}
Result hipGetDeviceProperties(void* properties, int) {
  std::memcpy(properties, "Fake gfx GPU", 13);
  std::memcpy(static_cast<char*>(properties) + 1160, state().architecture.c_str(), state().architecture.size() + 1);
  return begin("hipGetDeviceProperties");
}
Result hipMalloc(void** block, std::size_t bytes) {
  if (Result result = begin("hipMalloc"); result != kSuccess) return result;
  std::vector<std::byte> made(bytes);
  std::uint64_t address = memory().simulated.add("an allocation", made);
  memory().blocks.emplace(address, std::move(made));
  ++state().allocations;
  return *block = reinterpret_cast<void*>(address), kSuccess;
}
Result hipFree(void* block) {
  auto found = memory().blocks.find(reinterpret_cast<std::uint64_t>(block));
  if (found == memory().blocks.end()) return kInvalidValue;
  memory().simulated.remove(found->first);
  memory().blocks.erase(found);
  --state().allocations;
  return begin("hipFree");
}
Result hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, StreamHandle) {
  std::byte *into = place(to, bytes), *source = place(from, bytes);
  if (kind != kCopyAnyway || into == nullptr || source == nullptr) return kInvalidValue;
  std::memmove(into, source, bytes);
  return begin("hipMemcpyAsync");
}
Result hipMemsetAsync(void* to, int value, std::size_t bytes, StreamHandle) {
  std::byte* into = place(to, bytes);
  if (into == nullptr) return kInvalidValue;
  std::memset(into, value, bytes);
  return begin("hipMemsetAsync");
}
Result hipModuleLoadData(ModuleHandle* module, const void* image) {
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
  loaded().erase(module);
  --state().modules;
  return begin("hipModuleUnload");
}
Result hipModuleGetFunction(Function* function, ModuleHandle module, const char* name) {
  if (Result result = begin("hipModuleGetFunction"); result != kSuccess) return result;
  module->functions.push_back(std::make_unique<ihipModuleSymbol_t>(ihipModuleSymbol_t{module, name}));
  return *function = module->functions.back().get(), kSuccess;
}
Result hipModuleLaunchKernel(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, StreamHandle, void** parameters, void** extra) {
  if (Result result = begin("hipModuleLaunchKernel"); result != kSuccess) return result;
  if (shared != 0 || parameters != nullptr || extra[0] != reinterpret_cast<void*>(kLaunchBlock) ||
      extra[2] != reinterpret_cast<void*>(kLaunchBlockBytes) || extra[4] != reinterpret_cast<void*>(kLaunchBlockEnd))
    return kInvalidValue;
  std::span<const std::byte> arguments(static_cast<const std::byte*>(extra[1]), *static_cast<std::size_t*>(extra[3]));
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
  if (flags != kStreamNonBlocking) return kInvalidValue;
  if (Result result = begin("hipStreamCreateWithFlags"); result != kSuccess) return result;
  ++state().streams;
  return *stream = reinterpret_cast<StreamHandle>(&number), kSuccess;
}
Result hipStreamDestroy(StreamHandle) { return --state().streams, begin("hipStreamDestroy"); }
Result hipStreamSynchronize(StreamHandle) { return begin("hipStreamSynchronize"); }
Result hipEventCreate(EventHandle* event) {
  if (Result result = begin("hipEventCreate"); result != kSuccess) return result;
  ++state().events;
  return *event = reinterpret_cast<EventHandle>(&number), kSuccess;
}
Result hipEventDestroy(EventHandle) { return --state().events, begin("hipEventDestroy"); }
Result hipEventRecord(EventHandle, StreamHandle) { return begin("hipEventRecord"); }
Result hipEventSynchronize(EventHandle) { return begin("hipEventSynchronize"); }
Result hipEventElapsedTime(float* ms, EventHandle, EventHandle) { return *ms = 1.5F, begin("hipEventElapsedTime"); }
}
