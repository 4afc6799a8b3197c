// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/FakeDriver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace fattn::cuda {

// The other handles are addresses of numbers; nothing looks behind them.
struct CUevent_st {
  bool recorded = false;
};
struct CUlinkState_st {
  char* info = nullptr;
  char* error = nullptr;
  void** values = nullptr;
  std::string cubin;
};

}  // namespace fattn::cuda

using namespace fattn::cuda;
using fattn::test::FakeDriver;

namespace {

int primary[4];                              // the devices' primary contexts
thread_local std::vector<Context> contexts;  // the current one is the last

void resetState(FakeDriver& driver) {
  for (auto& [block, bytes] : driver.memory) std::free(block);
  driver.memory.clear();
  contexts.clear();  // what this thread could not take back while calls failed
  driver.calls.clear();
  driver.results.clear();
  driver.once.clear();
  driver.begun = 0;
  driver.failAt = -1;
  driver.failWith = 2;
  driver.failOn = false;
  driver.failed.clear();
  driver.version = 13000;
  driver.devices = 1;
  driver.attributes = {{1, 1024},  {5, 2147483647}, {6, 65535}, {7, 65535}, {13, 1980000}, {16, 132},    {36, 3201000},
                       {37, 6144}, {38, 62914560},  {75, 9},    {76, 0},    {81, 233472},  {97, 232448}, {115, 1}};
  driver.functionAttributes = {{0, 1024}, {1, 0}, {3, 0}, {4, 40}};
  driver.freeBytes = 1 << 20;
  driver.infoLog = driver.errorLog = driver.ptx = driver.image = "";
  driver.entries = {"kernel"};
  driver.globals.clear();
  driver.retained = driver.modules = driver.streams = driver.events = driver.pools = driver.links = driver.maxDynamicSharedBytes = 0;
  driver.blocksPerMultiprocessor = 2;
  driver.launches.clear();
  driver.launches.reserve(64);
  driver.streamIds.clear();
  driver.capturing = nullptr;
  driver.kept.clear();
  driver.maps.clear();
  driver.maps.reserve(64);
}

FakeDriver& state() {
  static FakeDriver* driver = [] {
    auto* made = new FakeDriver;
    made->reset = [made] { resetState(*made); };
    resetState(*made);
    return made;
  }();
  return *driver;
}

// What a call returns: the result the test wants, else an error where it needs a context and the thread has none.
Result begin(std::string_view function, bool needsContext) {
  FakeDriver& driver = state();
  std::scoped_lock lock(driver.mutex);
  if (auto at = driver.calls.find(function); at != driver.calls.end())
    ++at->second;
  else
    driver.calls.emplace(function, 1);
  if (const int call = driver.begun++; driver.failAt >= 0 && (call == driver.failAt || (driver.failOn && call > driver.failAt))) {
    if (call == driver.failAt) driver.failed = function;
    return driver.failWith;
  }
  if (auto at = driver.once.find(function); at != driver.once.end()) {
    Result result = at->second;
    driver.once.erase(at);
    return result;
  }
  if (auto at = driver.results.find(function); at != driver.results.end()) return at->second;
  return needsContext && contexts.empty() ? kInvalidContext : kSuccess;
}

Result allocateBytes(Address* memory, std::size_t bytes) {
  FakeDriver& driver = state();
  std::scoped_lock lock(driver.mutex);
  if (bytes > driver.freeBytes) return kOutOfMemory;
  void* block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  driver.memory[block] = bytes;
  driver.freeBytes -= bytes;
  *memory = reinterpret_cast<Address>(block);
  return kSuccess;
}

Result freeBytes(Address memory) {
  FakeDriver& driver = state();
  std::scoped_lock lock(driver.mutex);
  auto at = driver.memory.find(reinterpret_cast<void*>(memory));
  if (at == driver.memory.end()) return 1;
  driver.freeBytes += at->second;
  std::free(at->first);
  driver.memory.erase(at);
  return kSuccess;
}

constexpr struct {
  Result result;
  const char *name, *text;
} kErrors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const auto* findError(Result result) {
  const auto* at = std::ranges::find(kErrors, result, [](const auto& error) { return error.result; });
  return at == std::end(kErrors) ? nullptr : at;
}

Result linkFailed(LinkState link, Result result) {
  FakeDriver& driver = state();
  if (link->error != nullptr) std::strcpy(link->error, driver.errorLog.c_str());
  return result;
}

}  // namespace

#define FAKE(name, parameters) extern "C" Result name parameters
#define BEGIN(needsContext) \
  if (Result scripted = begin(__func__, needsContext); scripted != kSuccess) return scripted

extern "C" FakeDriver* fattnFakeDriver() { return &state(); }

FAKE(cuInit, (unsigned)) {
  BEGIN(false);
  return kSuccess;
}
FAKE(cuDriverGetVersion, (int* version)) {
  BEGIN(false);
  *version = state().version;
  return kSuccess;
}
FAKE(cuGetErrorName, (Result result, const char** text)) {
  const auto* error = findError(result);
  if (error != nullptr) *text = error->name;
  return error != nullptr ? kSuccess : 1;
}
FAKE(cuGetErrorString, (Result result, const char** text)) {
  const auto* error = findError(result);
  if (error != nullptr) *text = error->text;
  return error != nullptr ? kSuccess : 1;
}
FAKE(cuDeviceGetCount, (int* count)) {
  BEGIN(false);
  *count = state().devices;
  return kSuccess;
}
FAKE(cuDeviceGet, (Ordinal * device, int ordinal)) {
  BEGIN(false);
  *device = ordinal;
  return kSuccess;
}
FAKE(cuDeviceGetName, (char* name, int bytes, Ordinal)) {
  BEGIN(false);
  std::strncpy(name, "Fake H200", static_cast<std::size_t>(bytes));
  return kSuccess;
}
FAKE(cuDeviceGetAttribute, (int* value, int attribute, Ordinal)) {
  BEGIN(false);
  auto at = state().attributes.find(attribute);
  if (at == state().attributes.end()) return 1;
  *value = at->second;
  return kSuccess;
}
FAKE(cuDeviceTotalMem_v2, (std::size_t* bytes, Ordinal)) {
  BEGIN(false);
  *bytes = std::size_t{140} << 30;
  return kSuccess;
}
FAKE(cuDevicePrimaryCtxRetain, (Context * context, Ordinal device)) {
  BEGIN(false);
  ++state().retained;
  *context = reinterpret_cast<Context>(&primary[device]);
  return kSuccess;
}
FAKE(cuDevicePrimaryCtxRelease_v2, (Ordinal)) {
  BEGIN(false);
  --state().retained;
  return kSuccess;
}
FAKE(cuCtxGetCurrent, (Context * context)) {
  BEGIN(false);
  *context = contexts.empty() ? nullptr : contexts.back();
  return kSuccess;
}
FAKE(cuCtxPushCurrent_v2, (Context context)) {
  BEGIN(false);
  contexts.push_back(context);
  return kSuccess;
}
FAKE(cuCtxPopCurrent_v2, (Context * context)) {
  BEGIN(true);
  *context = contexts.back();
  contexts.pop_back();
  return kSuccess;
}
FAKE(cuMemGetInfo_v2, (std::size_t* free, std::size_t* total)) {
  BEGIN(true);
  *free = state().freeBytes;
  *total = 1 << 20;
  return kSuccess;
}
FAKE(cuMemAlloc_v2, (Address * memory, std::size_t bytes)) {
  BEGIN(true);
  return allocateBytes(memory, bytes);
}
FAKE(cuMemFree_v2, (Address memory)) {
  BEGIN(true);
  return freeBytes(memory);
}
FAKE(cuMemcpyAsync, (Address destination, Address source, std::size_t bytes, StreamHandle)) {
  BEGIN(true);
  std::memcpy(reinterpret_cast<void*>(destination), reinterpret_cast<void*>(source), bytes);
  return kSuccess;
}
FAKE(cuMemsetD8Async, (Address destination, unsigned char value, std::size_t bytes, StreamHandle)) {
  BEGIN(true);
  std::memset(reinterpret_cast<void*>(destination), value, bytes);
  return kSuccess;
}
FAKE(cuStreamCreate, (StreamHandle * stream, unsigned flags)) {
  BEGIN(true);
  if (flags != kStreamNonBlocking) return 1;
  static int streams[1];
  ++state().streams;
  *stream = reinterpret_cast<StreamHandle>(streams);
  return kSuccess;
}
FAKE(cuStreamDestroy_v2, (StreamHandle)) {
  BEGIN(true);
  --state().streams;
  return kSuccess;
}
FAKE(cuStreamSynchronize, (StreamHandle)) {
  BEGIN(true);
  return kSuccess;
}
FAKE(cuEventCreate, (EventHandle * event, unsigned)) {
  BEGIN(true);
  ++state().events;
  *event = new CUevent_st;
  return kSuccess;
}
FAKE(cuEventDestroy_v2, (EventHandle event)) {
  BEGIN(true);
  --state().events;
  delete event;
  return kSuccess;
}
FAKE(cuEventRecord, (EventHandle event, StreamHandle)) {
  BEGIN(true);
  event->recorded = true;
  return kSuccess;
}
FAKE(cuEventSynchronize, (EventHandle)) {
  BEGIN(true);
  return kSuccess;
}
FAKE(cuEventElapsedTime, (float* milliseconds, EventHandle first, EventHandle last)) {
  BEGIN(true);
  if (!first->recorded || !last->recorded) return kInvalidHandle;
  *milliseconds = 1.5f;
  return kSuccess;
}
FAKE(cuLinkCreate_v2, (unsigned count, const int* options, void** values, LinkState* link)) {
  BEGIN(true);
  auto* made = new CUlinkState_st;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kJitWallTime) made->values = values + i;
    if (options[i] == kJitInfoLog) made->info = static_cast<char*>(values[i]);
    if (options[i] == kJitErrorLog) made->error = static_cast<char*>(values[i]);
  }
  ++state().links;
  *link = made;
  return kSuccess;
}
FAKE(cuLinkAddData_v2, (LinkState link, int type, void* data, std::size_t bytes, const char*, unsigned, const int*, void**)) {
  if (Result scripted = begin(__func__, true); scripted != kSuccess) return linkFailed(link, scripted);
  if (type != kInputPtx) return 1;
  const char* text = static_cast<const char*>(data);
  state().endsInZero = text[bytes - 1] == 0 && std::strlen(text) == bytes - 1;
  state().ptx = text;
  return kSuccess;
}
FAKE(cuLinkComplete, (LinkState link, void** cubin, std::size_t* bytes)) {
  if (Result scripted = begin(__func__, true); scripted != kSuccess) return linkFailed(link, scripted);
  link->cubin = std::string("\177ELF\0of ", 8) + state().ptx;
  float time = 12.5f;
  std::memcpy(static_cast<void*>(link->values), &time, sizeof(time));
  std::strcpy(link->info, state().infoLog.c_str());
  *cubin = link->cubin.data();
  *bytes = link->cubin.size();
  return kSuccess;
}
FAKE(cuLinkDestroy, (LinkState link)) {
  BEGIN(true);
  --state().links;
  delete link;
  return kSuccess;
}
FAKE(cuModuleLoadDataEx, (ModuleHandle * module, const void* image, unsigned count, const int* options, void** values)) {
  BEGIN(true);
  static int modules[1];
  const auto* text = static_cast<const char*>(image);
  bool whole = std::strstr(text, "setmaxnreg.") != nullptr;  // other PTX is linked first
  if (std::memcmp(image, "\177ELF", 4) != 0 && !whole) return 200;
  if (whole) state().ptx = text;
  for (unsigned i = 0; whole && i < count; ++i)
    if (options[i] == kJitInfoLog) std::strcpy(static_cast<char*>(values[i]), state().infoLog.c_str());
  state().image.assign(text, 8);
  ++state().modules;
  *module = reinterpret_cast<ModuleHandle>(modules);
  return kSuccess;
}
FAKE(cuModuleUnload, (ModuleHandle)) {
  BEGIN(true);
  --state().modules;
  return kSuccess;
}
FAKE(cuModuleGetFunction, (Function * function, ModuleHandle, const char* name)) {
  BEGIN(true);
  static int functions[1];
  if (!state().entries.contains(name)) return kNotFound;
  *function = reinterpret_cast<Function>(functions);
  return kSuccess;
}
FAKE(cuModuleGetGlobal_v2, (Address * memory, std::size_t* bytes, ModuleHandle, const char* name)) {
  BEGIN(true);
  auto found = state().globals.find(name);
  if (found == state().globals.end()) return kNotFound;
  *memory = reinterpret_cast<Address>(found->second.data());
  *bytes = found->second.size();
  return kSuccess;
}
FAKE(cuFuncGetAttribute, (int* value, int attribute, Function)) {
  BEGIN(true);
  *value = state().functionAttributes.at(attribute);
  return kSuccess;
}
FAKE(cuFuncSetAttribute, (Function, int attribute, int value)) {
  BEGIN(true);
  if (attribute != kFunctionMaxDynamicSharedBytes) return 1;
  state().maxDynamicSharedBytes = value;
  return kSuccess;
}
FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int* blocks, Function, int, std::size_t)) {
  BEGIN(true);
  *blocks = state().blocksPerMultiprocessor;
  return kSuccess;
}
FAKE(cuFuncLoad, (Function)) {
  BEGIN(true);
  return kSuccess;
}
static Result keep(fattn::test::FakeLaunch launch, void** arguments, void** extra) {
  // A kernel with tensor maps has one parameter, whose size a driver knows from its code. This one keeps as much as any test looks at,
  // which is less than what a launch puts it in.
  if (arguments != nullptr) {
    if (extra != nullptr || arguments[1] != nullptr) return 1;
    launch.bytes = 1024;
    std::memcpy(launch.arguments, *arguments, launch.bytes);
  }
  if (extra != nullptr) {
    if (extra[0] != reinterpret_cast<void*>(1) || extra[2] != reinterpret_cast<void*>(2) || extra[4] != nullptr) return 1;
    launch.bytes = *static_cast<std::size_t*>(extra[3]);
    std::memcpy(launch.arguments, extra[1], launch.bytes);
  }
  std::scoped_lock lock(state().mutex);
  if (state().launches.size() < state().launches.capacity()) state().launches.push_back(launch);
  return kSuccess;
}
FAKE(cuLaunchKernel, (Function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned sharedBytes,
                      StreamHandle stream, void** arguments, void** extra)) {
  BEGIN(true);
  return keep({{gx, gy, gz}, {bx, by, bz}, sharedBytes, stream, false, 0, {}}, arguments, extra);
}
FAKE(cuLaunchKernelEx, (const LaunchConfig* c, Function, void** arguments, void** extra)) {
  BEGIN(true);
  if (c->attributeCount != 1 || c->attributes->id != kLaunchOverlaps || c->attributes->value[0] != 1) return 1;
  return keep({{c->grid[0], c->grid[1], c->grid[2]}, {c->block[0], c->block[1], c->block[2]}, c->sharedBytes, c->stream, true, 0, {}},
              arguments, extra);
}
FAKE(cuStreamGetId, (StreamHandle stream, std::uint64_t* id)) {
  BEGIN(true);
  auto at = state().streamIds.find(stream);
  *id = at == state().streamIds.end() ? 1 : at->second;
  return kSuccess;
}
FAKE(cuStreamGetCaptureInfo_v2, (StreamHandle, int* status, std::uint64_t*, Graph* graph, const void**, std::size_t*)) {
  BEGIN(true);
  *status = state().capturing != nullptr ? 1 : 0;
  *graph = static_cast<Graph>(state().capturing);
  return kSuccess;
}
FAKE(cuUserObjectCreate, (UserObject * object, void* data, void (*destroy)(void*), unsigned references, unsigned flags)) {
  BEGIN(true);
  if (references != 1 || flags != 1) return 1;
  *object = reinterpret_cast<UserObject>(new std::function<void()>([=] { destroy(data); }));
  return kSuccess;
}
FAKE(cuUserObjectRelease, (UserObject object, unsigned)) {
  BEGIN(true);
  const std::unique_ptr<std::function<void()>> last(reinterpret_cast<std::function<void()>*>(object));
  (*last)();
  return kSuccess;
}
FAKE(cuGraphRetainUserObject, (Graph graph, UserObject object, unsigned references, unsigned flags)) {
  BEGIN(true);
  if (graph != state().capturing || references != 1 || flags != 1) return 1;
  const std::unique_ptr<std::function<void()>> moved(reinterpret_cast<std::function<void()>*>(object));
  state().kept.push_back(*moved);
  return kSuccess;
}
FAKE(cuTensorMapEncodeTiled, (void* map, int type, unsigned rank, void* address, const std::uint64_t* sizes, const std::uint64_t* strides,
                              const unsigned* box, const unsigned* steps, int interleave, int swizzle, int promotion, int fill)) {
  BEGIN(false);
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0 || rank < 1 || rank > 5) return 1;
  std::scoped_lock lock(state().mutex);
  fattn::test::FakeMap made{type, interleave, swizzle, promotion, fill, rank, address, {}, {}, {}, {}};
  std::copy_n(sizes, rank, made.sizes);
  std::copy_n(strides, rank - 1, made.strides);
  std::copy_n(box, rank, made.box);
  std::copy_n(steps, rank, made.steps);
  if (state().maps.size() < state().maps.capacity()) state().maps.push_back(made);
  std::memset(map, static_cast<int>(state().maps.size()), 128);
  return kSuccess;
}
FAKE(cuTensorMapReplaceAddress, (void* map, void* address)) {
  BEGIN(false);
  std::scoped_lock lock(state().mutex);
  const std::size_t number = *static_cast<unsigned char*>(map);
  if (number < 1 || number > state().maps.size() || reinterpret_cast<std::uintptr_t>(address) % 16 != 0) return 1;
  fattn::test::FakeMap made = state().maps[number - 1];
  made.address = address;
  if (state().maps.size() < state().maps.capacity()) state().maps.push_back(made);
  std::memset(map, static_cast<int>(state().maps.size()), 128);
  return kSuccess;
}
FAKE(cuMemPoolCreate, (MemoryPool * pool, const PoolProperties* properties)) {
  BEGIN(true);
  static int pools[1];
  if (properties->allocationType != 1 || properties->locationType != 1) return 1;
  ++state().pools;
  *pool = reinterpret_cast<MemoryPool>(pools);
  return kSuccess;
}
FAKE(cuMemPoolDestroy, (MemoryPool)) {
  BEGIN(true);
  --state().pools;
  return kSuccess;
}
FAKE(cuMemPoolSetAttribute, (MemoryPool, int, void*)) {
  BEGIN(true);
  return kSuccess;
}
FAKE(cuMemPoolTrimTo, (MemoryPool, std::size_t)) {
  BEGIN(true);
  return kSuccess;
}
FAKE(cuMemAllocFromPoolAsync, (Address * memory, std::size_t bytes, MemoryPool, StreamHandle)) {
  BEGIN(true);
  return allocateBytes(memory, bytes);
}
FAKE(cuMemFreeAsync, (Address memory, StreamHandle)) {
  BEGIN(true);
  return freeBytes(memory);
}
