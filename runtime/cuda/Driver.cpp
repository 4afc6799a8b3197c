// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/Driver.h"

#include <dlfcn.h>

#include <cstdlib>

#include "fattn/Error.h"
#include "runtime/gpu/DriverLibrary.h"

namespace fattn::cuda {
namespace {

DriverApi findFunctions(void* library, const std::string& name) {
  DriverApi api;
  std::string missing;
  auto find = [&](auto& member, const char* symbol, bool required) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(library, symbol));
    if (member == nullptr && required) missing.append(missing.empty() ? "" : ", ").append(symbol);
  };
#define FATTN_CUDA_FIND_REQUIRED(member, symbol, parameters) find(api.member, #symbol, true);
#define FATTN_CUDA_FIND_OPTIONAL(member, symbol, parameters) find(api.member, #symbol, false);
  FATTN_CUDA_REQUIRED(FATTN_CUDA_FIND_REQUIRED)
  FATTN_CUDA_OPTIONAL(FATTN_CUDA_FIND_OPTIONAL)
#undef FATTN_CUDA_FIND_REQUIRED
#undef FATTN_CUDA_FIND_OPTIONAL
  if (!missing.empty())
    throw Error(ErrorCode::NoDevice, "the NVIDIA driver library " + name + " is too old or is none: it does not export " + missing,
                "fattn needs a driver for CUDA 11.0 or newer");
  return api;
}

std::string initializationHint(Result result) {
  switch (result) {
    case kNoDevice:
      if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
        return "CUDA_VISIBLE_DEVICES is '" + std::string(visible) + "', which may hide the GPUs";
      return "the driver sees no GPU; in a container, the GPU has to be passed into it";
    case kStubLibrary:
      return "this is the library to link against of a CUDA toolkit, not a driver; take it out of LD_LIBRARY_PATH";
    case kSystemDriverMismatch:
      return "the driver's library and its kernel module are of different versions; restart the machine after a driver update";
    case kCompatNotSupportedOnDevice:
      return "a CUDA forward-compatibility library was found that this GPU cannot use; take it out of LD_LIBRARY_PATH";
    case kNotInitialized:
      return "a process that was forked after its parent used CUDA cannot use it; start a new program instead";
    default:
      return "see whether nvidia-smi works on this machine";
  }
}

}  // namespace

std::string cudaVersion(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

Driver::Driver(const std::vector<std::string>& libraries) {
  std::string name;
  void* library =
      openDriverLibrary(libraries, name, "there is no NVIDIA driver",
                        "install the NVIDIA driver, in a container run it with the GPU's libraries mounted, or use target 'host'; "
                        "FATTN_CUDA_LIBRARY names a driver library elsewhere");
  api_ = findFunctions(library, name);
  Result result = api_.Init(0);
  if (result == kSuccess) result = api_.DeviceGetCount(&count_);
  if (result == kSuccess && count_ == 0) result = kNoDevice;
  if (result != kSuccess)
    throw Error(ErrorCode::NoDevice, "the NVIDIA driver (" + name + ") found no GPU that it can use: " + text(result),
                initializationHint(result));
  check(api_.DriverGetVersion(&version_), "ask for the driver's version");
}

std::string Driver::text(Result result) const {
  const char *name = nullptr, *words = nullptr;
  if (api_.GetErrorName(result, &name) != kSuccess || name == nullptr) return "CUDA error " + std::to_string(result);
  std::string text = name;
  if (api_.GetErrorString(result, &words) == kSuccess && words != nullptr) text.append(": ").append(words);
  return text;
}

void Driver::fail(Result result, std::string_view doing) const {
  std::string hint;
  if (result == kNotInitialized || result == kDeinitialized)
    hint = result == kDeinitialized ? "the process is ending, and the driver has shut down already" : initializationHint(result);
  throw Error(result == kOutOfMemory ? ErrorCode::OutOfMemory : ErrorCode::DeviceError,
              "could not " + std::string(doing) + ": " + text(result), hint);
}

bool isSticky(Result result) {
  switch (result) {
    case kEccUncorrectable:
    case kNvlinkUncorrectable:
    case kContained:
    case kIllegalAddress:
    case kLaunchTimeout:
    case kContextIsDestroyed:
    case kAssert:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kMisalignedAddress:
    case kInvalidAddressSpace:
    case kInvalidPc:
    case kLaunchFailed:
    case kTensorMemoryLeak:
      return true;
    default:
      return false;
  }
}

}  // namespace fattn::cuda
