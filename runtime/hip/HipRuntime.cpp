// SPDX-License-Identifier: Apache-2.0
#include "runtime/hip/HipRuntime.h"

#include <dlfcn.h>

#include <cstdlib>

#include "fattn/Error.h"
#include "runtime/gpu/DriverLibrary.h"

namespace fattn::hip {
namespace {

HipApi findHip(void* library, const std::string& name) {
  HipApi api;
  std::string missing;
  auto find = [&](auto& member, const char* symbol) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(library, symbol));
    if (member == nullptr) missing.append(missing.empty() ? "" : ", ").append(symbol);
  };
#define FATTN_HIP_FIND(member, symbol, parameters) find(api.member, #symbol);
  FATTN_HIP_FUNCTIONS(FATTN_HIP_FIND)
#undef FATTN_HIP_FIND
  find(api.GetErrorName, "hipGetErrorName");
  find(api.GetErrorString, "hipGetErrorString");
  if (!missing.empty())
    throw Error(ErrorCode::NoDevice, "the HIP library " + name + " is too old or is none: it does not export " + missing,
                "fattn needs HIP 5 to 7");
  return api;
}

std::string hintFor(Result result) {
  if (result != kNoDevice && result != kInvalidDevice) return "see whether rocminfo works on this machine";
  for (const char* variable : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
    if (const char* visible = std::getenv(variable)) return std::string(variable) + " is '" + visible + "', which may hide the GPUs";
  return "HIP sees no GPU; it needs /dev/kfd and /dev/dri, in a container passed into it, and a user who may open them";
}

}  // namespace

HipRuntime::HipRuntime(const std::vector<std::string>& libraries) {
  std::string name;
  void* library = openDriverLibrary(libraries, name, "there is no HIP runtime",
                                    "install ROCm 5 to 7, or use target 'host'; FATTN_HIP_LIBRARY names a library elsewhere");
  api_ = findHip(library, name);
  Result result = api_.Init(0);
  if (result == kSuccess) result = api_.GetDeviceCount(&count_);
  if (result == kSuccess && count_ == 0) result = kNoDevice;
  if (result != kSuccess)
    throw Error(ErrorCode::NoDevice, "the HIP runtime (" + name + ") found no GPU that it can use: " + text(result), hintFor(result));
  check(api_.RuntimeGetVersion(&version_), "ask for HIP's version");
}

std::string HipRuntime::text(Result result) const {
  const char *name = api_.GetErrorName(result), *words = api_.GetErrorString(result);
  if (name == nullptr) return "HIP error " + std::to_string(result);
  return words == nullptr ? name : std::string(name) + ": " + words;
}

void HipRuntime::check(Result result, const std::string& doing) const {
  if (result == kSuccess) return;
  throw Error(result == kOutOfMemory ? ErrorCode::OutOfMemory : ErrorCode::DeviceError, "could not " + doing + ": " + text(result));
}

}  // namespace fattn::hip
