// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's binary interface that fattn uses, declared by ourselves: no toolkit is needed to build, and the driver's
// library is opened at run time (Driver.h). The driver promises to keep these names, signatures and numbers; where a function exists in
// two versions this is the _v2 one, with 64-bit sizes.
#ifndef FATTN_RUNTIME_CUDA_DRIVERAPI_H
#define FATTN_RUNTIME_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

namespace fattn::cuda {

using Result = int;             // CUresult
using Ordinal = int;            // CUdevice
using Address = std::uint64_t;  // CUdeviceptr
using Context = struct CUctx_st*;
using ModuleHandle = struct CUmod_st*;
using Function = struct CUfunc_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using LinkState = struct CUlinkState_st*;
using MemoryPool = struct CUmemPoolHandle_st*;
using Graph = struct CUgraph_st*;
using UserObject = struct CUuserObject_st*;

// Results that are handled by name.
enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kContained = 226,
  kInvalidHandle = 400,
  kNotFound = 500,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kTensorMemoryLeak = 721,
  kSystemDriverMismatch = 803,
  kCompatNotSupportedOnDevice = 804,
};

// CUdevice_attribute
enum : int {
  kAttributeMaxThreadsPerBlock = 1,
  kAttributeMaxGridX = 5,
  kAttributeMaxGridY = 6,
  kAttributeMaxGridZ = 7,
  kAttributeClockRate = 13,  // kHz
  kAttributeMultiprocessors = 16,
  kAttributeMemoryClockRate = 36,  // kHz
  kAttributeMemoryBusWidth = 37,   // bits
  kAttributeL2Bytes = 38,
  kAttributeCapabilityMajor = 75,
  kAttributeCapabilityMinor = 76,
  kAttributeSharedBytesPerMultiprocessor = 81,
  kAttributeSharedBytesPerBlockOptin = 97,
  kAttributeMemoryPools = 115,
};

// CUfunction_attribute
enum : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionStaticSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicSharedBytes = 8,
};

// CUjit_option and CUjitInputType
enum : int {
  kJitWallTime = 2,  // out: a float, milliseconds, in the first bytes of the option's value
  kJitInfoLog = 3,
  kJitInfoLogBytes = 4,
  kJitErrorLog = 5,
  kJitErrorLogBytes = 6,
  kJitLogVerbose = 12,
};
inline constexpr int kInputPtx = 1;

// CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion
enum : int {
  kMapUInt8 = 0,
  kMapUInt16 = 1,
  kMapUInt32 = 2,
  kMapUInt64 = 4,
  kMapFloat32 = 7,
  kMapSwizzleNone = 0,
  kMapSwizzle32 = 1,
  kMapSwizzle64 = 2,
  kMapSwizzle128 = 3,
  kMapPromote128 = 2,
};

inline constexpr unsigned kStreamNonBlocking = 1;       // CU_STREAM_NON_BLOCKING
inline constexpr int kPoolReleaseThreshold = 4;         // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
inline constexpr std::uintptr_t kLaunchBlockEnd = 0;    // CU_LAUNCH_PARAM_END
inline constexpr std::uintptr_t kLaunchBlock = 1;       // CU_LAUNCH_PARAM_BUFFER_POINTER
inline constexpr std::uintptr_t kLaunchBlockBytes = 2;  // CU_LAUNCH_PARAM_BUFFER_SIZE

// CUmemPoolProps: pinned memory of one device that no other process can open.
struct PoolProperties {
  int allocationType = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handleTypes = 0;
  int locationType = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int locationId = 0;
  void* unused = nullptr;
  std::size_t maxBytes = 0;  // 0: the system's limit
  unsigned char reserved[56] = {};
};
static_assert(sizeof(PoolProperties) == 88);

// CUlaunchAttribute and CUlaunchConfig
inline constexpr int kLaunchOverlaps = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
struct LaunchAttribute {
  int id = 0, unused = 0;
  int value[16] = {};
};
static_assert(sizeof(LaunchAttribute) == 72);
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, sharedBytes = 0;
  StreamHandle stream = nullptr;
  const LaunchAttribute* attributes = nullptr;
  unsigned attributeCount = 0;
};
static_assert(sizeof(LaunchConfig) == 56);

// X(member and name without version, exported name, parameters): what every driver of CUDA 11.0 or newer exports.
#define FATTN_CUDA_REQUIRED(X)                                                                                                           \
  X(Init, cuInit, (unsigned flags))                                                                                                      \
  X(DriverGetVersion, cuDriverGetVersion, (int* version))                                                                                \
  X(GetErrorName, cuGetErrorName, (Result result, const char** text))                                                                    \
  X(GetErrorString, cuGetErrorString, (Result result, const char** text))                                                                \
  X(DeviceGetCount, cuDeviceGetCount, (int* count))                                                                                      \
  X(DeviceGet, cuDeviceGet, (Ordinal * device, int ordinal))                                                                             \
  X(DeviceGetName, cuDeviceGetName, (char* name, int bytes, Ordinal device))                                                             \
  X(DeviceGetAttribute, cuDeviceGetAttribute, (int* value, int attribute, Ordinal device))                                               \
  X(DeviceTotalMem, cuDeviceTotalMem_v2, (std::size_t* bytes, Ordinal device))                                                           \
  X(PrimaryCtxRetain, cuDevicePrimaryCtxRetain, (Context * context, Ordinal device))                                                     \
  X(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (Ordinal device))                                                                   \
  X(CtxGetCurrent, cuCtxGetCurrent, (Context * context))                                                                                 \
  X(CtxPushCurrent, cuCtxPushCurrent_v2, (Context context))                                                                              \
  X(CtxPopCurrent, cuCtxPopCurrent_v2, (Context * context))                                                                              \
  X(MemGetInfo, cuMemGetInfo_v2, (std::size_t* free, std::size_t* total))                                                                \
  X(MemAlloc, cuMemAlloc_v2, (Address * memory, std::size_t bytes))                                                                      \
  X(MemFree, cuMemFree_v2, (Address memory))                                                                                             \
  X(MemcpyAsync, cuMemcpyAsync, (Address destination, Address source, std::size_t bytes, StreamHandle stream))                           \
  X(MemsetD8Async, cuMemsetD8Async, (Address destination, unsigned char value, std::size_t bytes, StreamHandle stream))                  \
  X(StreamCreate, cuStreamCreate, (StreamHandle * stream, unsigned flags))                                                               \
  X(StreamDestroy, cuStreamDestroy_v2, (StreamHandle stream))                                                                            \
  X(StreamSynchronize, cuStreamSynchronize, (StreamHandle stream))                                                                       \
  X(EventCreate, cuEventCreate, (EventHandle * event, unsigned flags))                                                                   \
  X(EventDestroy, cuEventDestroy_v2, (EventHandle event))                                                                                \
  X(EventRecord, cuEventRecord, (EventHandle event, StreamHandle stream))                                                                \
  X(EventSynchronize, cuEventSynchronize, (EventHandle event))                                                                           \
  X(EventElapsedTime, cuEventElapsedTime, (float* milliseconds, EventHandle begin, EventHandle end))                                     \
  X(LinkCreate, cuLinkCreate_v2, (unsigned count, const int* options, void** values, LinkState* state))                                  \
  X(LinkAddData, cuLinkAddData_v2,                                                                                                       \
    (LinkState state, int type, void* data, std::size_t bytes, const char* name, unsigned count, const int* options, void** values))     \
  X(LinkComplete, cuLinkComplete, (LinkState state, void** cubin, std::size_t* bytes))                                                   \
  X(LinkDestroy, cuLinkDestroy, (LinkState state))                                                                                       \
  X(ModuleLoadDataEx, cuModuleLoadDataEx, (ModuleHandle * module, const void* image, unsigned count, const int* options, void** values)) \
  X(ModuleUnload, cuModuleUnload, (ModuleHandle module))                                                                                 \
  X(ModuleGetFunction, cuModuleGetFunction, (Function * function, ModuleHandle module, const char* name))                                \
  X(FuncGetAttribute, cuFuncGetAttribute, (int* value, int attribute, Function function))                                                \
  X(FuncSetAttribute, cuFuncSetAttribute, (Function function, int attribute, int value))                                                 \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                              \
    (int* blocks, Function function, int threads, std::size_t sharedBytes))                                                              \
  X(LaunchKernel, cuLaunchKernel,                                                                                                        \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,               \
     unsigned sharedBytes, StreamHandle stream, void** arguments, void** extra))

// The same, of newer drivers; a null pointer where it is missing.
#define FATTN_CUDA_OPTIONAL(X)                                                                                                            \
  X(MemPoolCreate, cuMemPoolCreate, (MemoryPool * pool, const PoolProperties* properties))                                                \
  X(MemPoolDestroy, cuMemPoolDestroy, (MemoryPool pool))                                                                                  \
  X(MemPoolSetAttribute, cuMemPoolSetAttribute, (MemoryPool pool, int attribute, void* value))                                            \
  X(MemPoolTrimTo, cuMemPoolTrimTo, (MemoryPool pool, std::size_t bytesToKeep))                                                           \
  X(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync, (Address * memory, std::size_t bytes, MemoryPool pool, StreamHandle))                 \
  X(MemFreeAsync, cuMemFreeAsync, (Address memory, StreamHandle stream))                                                                  \
  X(LaunchKernelEx, cuLaunchKernelEx, (const LaunchConfig* config, Function function, void** arguments, void** extra))                    \
  X(StreamGetId, cuStreamGetId, (StreamHandle stream, std::uint64_t* id))                                                                 \
  X(StreamGetCaptureInfo, cuStreamGetCaptureInfo_v2,                                                                                      \
    (StreamHandle stream, int* status, std::uint64_t* id, Graph* graph, const void** dependencies, std::size_t* dependencyCount))         \
  X(UserObjectCreate, cuUserObjectCreate, (UserObject * object, void* data, void (*destroy)(void*), unsigned references, unsigned flags)) \
  X(UserObjectRelease, cuUserObjectRelease, (UserObject object, unsigned references))                                                     \
  X(GraphRetainUserObject, cuGraphRetainUserObject, (Graph graph, UserObject object, unsigned references, unsigned flags))                \
  X(ModuleGetGlobal, cuModuleGetGlobal_v2, (Address * memory, std::size_t* bytes, ModuleHandle module, const char* name))                 \
  X(FuncLoad, cuFuncLoad, (Function function))                                                                                            \
  X(TensorMapEncodeTiled, cuTensorMapEncodeTiled,                                                                                         \
    (void* map, int type, unsigned rank, void* address, const std::uint64_t* sizes, const std::uint64_t* strides, const unsigned* box,    \
     const unsigned* steps, int interleave, int swizzle, int promotion, int fill))                                                        \
  X(TensorMapReplaceAddress, cuTensorMapReplaceAddress, (void* map, void* address))

/// The driver's functions, by pointer.
struct DriverApi {
#define FATTN_CUDA_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  FATTN_CUDA_REQUIRED(FATTN_CUDA_MEMBER)
  FATTN_CUDA_OPTIONAL(FATTN_CUDA_MEMBER)
#undef FATTN_CUDA_MEMBER
};

}  // namespace fattn::cuda

#endif
