// SPDX-License-Identifier: Apache-2.0
// The part of HIP's binary interface that fattn uses, declared by ourselves: no ROCm is needed to build, and HIP's library is opened at run
// time (HipRuntime.h). These names, signatures and numbers are the same in versions 5 to 7.
// Source: "HIP Runtime API Reference", https://rocm.docs.amd.com/projects/HIP.
#ifndef FATTN_RUNTIME_HIP_HIPAPI_H
#define FATTN_RUNTIME_HIP_HIPAPI_H

#include <cstddef>
#include <cstdint>

namespace fattn::hip {

using Result = int;  // hipError_t
using ModuleHandle = struct ihipModule_t*;
using Function = struct ihipModuleSymbol_t*;
using StreamHandle = struct ihipStream_t*;
using EventHandle = struct ihipEvent_t*;

// Results that are handled by name.
enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,  // what version 5 says where there is no GPU
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kInvalidHandle = 400,
};

constexpr int kMultiprocessorCount = 63, kCopyAnyway = 4;  // hipDeviceAttributeMultiprocessorCount, hipMemcpyDefault
constexpr unsigned kStreamNonBlocking = 1;
constexpr std::uintptr_t kLaunchBlock = 1, kLaunchBlockBytes = 2, kLaunchBlockEnd = 3;  // HIP_LAUNCH_PARAM_...

// Member, exported name, parameters; each returns a Result.
#define FATTN_HIP_FUNCTIONS(X)                                                                                      \
  X(Init, hipInit, (unsigned))                                                                                      \
  X(GetDeviceCount, hipGetDeviceCount, (int*))                                                                      \
  X(RuntimeGetVersion, hipRuntimeGetVersion, (int*))                                                                \
  X(GetDevice, hipGetDevice, (int*))                                                                                \
  X(SetDevice, hipSetDevice, (int))                                                                                 \
  X(DeviceGetName, hipDeviceGetName, (char*, int, int))                                                             \
  X(DeviceTotalMem, hipDeviceTotalMem, (std::size_t*, int))                                                         \
  X(DeviceGetAttribute, hipDeviceGetAttribute, (int*, int, int))                                                    \
  X(GetDeviceProperties, hipGetDeviceProperties, (void*, int))                                                      \
  X(Malloc, hipMalloc, (void**, std::size_t))                                                                       \
  X(Free, hipFree, (void*))                                                                                         \
  X(MemcpyAsync, hipMemcpyAsync, (void*, const void*, std::size_t, int, StreamHandle))                              \
  X(MemsetAsync, hipMemsetAsync, (void*, int, std::size_t, StreamHandle))                                           \
  X(ModuleLoadData, hipModuleLoadData, (ModuleHandle*, const void*))                                                \
  X(ModuleUnload, hipModuleUnload, (ModuleHandle))                                                                  \
  X(ModuleGetFunction, hipModuleGetFunction, (Function*, ModuleHandle, const char*))                                \
  X(ModuleLaunchKernel, hipModuleLaunchKernel,                                                                      \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle, void**, void**)) \
  X(StreamCreateWithFlags, hipStreamCreateWithFlags, (StreamHandle*, unsigned))                                     \
  X(StreamDestroy, hipStreamDestroy, (StreamHandle))                                                                \
  X(StreamSynchronize, hipStreamSynchronize, (StreamHandle))                                                        \
  X(EventCreate, hipEventCreate, (EventHandle*))                                                                    \
  X(EventDestroy, hipEventDestroy, (EventHandle))                                                                   \
  X(EventRecord, hipEventRecord, (EventHandle, StreamHandle))                                                       \
  X(EventSynchronize, hipEventSynchronize, (EventHandle))                                                           \
  X(EventElapsedTime, hipEventElapsedTime, (float*, EventHandle, EventHandle))

struct HipApi {
#define FATTN_HIP_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  FATTN_HIP_FUNCTIONS(FATTN_HIP_MEMBER)
#undef FATTN_HIP_MEMBER
  const char* (*GetErrorName)(Result) = nullptr;
  const char* (*GetErrorString)(Result) = nullptr;
};

}  // namespace fattn::hip

#endif
