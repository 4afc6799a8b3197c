// SPDX-License-Identifier: Apache-2.0
// HIP on this machine: its library, opened and initialized, and its errors in words.
#ifndef FATTN_RUNTIME_HIP_HIPRUNTIME_H
#define FATTN_RUNTIME_HIP_HIPRUNTIME_H

#include <string>
#include <string_view>
#include <vector>

#include "runtime/hip/HipApi.h"

namespace fattn::hip {

class HipRuntime {
 public:
  /// Opens the first of `libraries` that is there, finds its functions, and initializes it. Throws Error{NoDevice} where there is no such
  /// library, where it lacks a function that is needed, or where it finds no GPU that it can use.
  explicit HipRuntime(const std::vector<std::string>& libraries);

  const HipApi& api() const { return api_; }
  /// As HIP counts it: 10,000,000 * major + 100,000 * minor + patch.
  int version() const { return version_; }
  int deviceCount() const { return count_; }

  /// "hipErrorInvalidValue: invalid argument".
  std::string text(Result result) const;
  /// Throws unless `result` is success: OutOfMemory, else DeviceError. `doing` completes the sentence "could not ...".
  void check(Result result, const std::string& doing) const;

 private:
  HipApi api_;
  int version_ = 0, count_ = 0;
};

/// Makes a GPU the calling thread's current one for the life of this object, and puts back what was current before.
class DeviceScope {
 public:
  DeviceScope(const HipRuntime& runtime, int ordinal) : runtime_(runtime) {
    if (runtime.api().GetDevice(&before_) == kSuccess && before_ == ordinal) return;
    runtime.check(runtime.api().SetDevice(ordinal), "make hip:" + std::to_string(ordinal) + " the current GPU");
    changed_ = true;
  }
  ~DeviceScope() {
    if (changed_) runtime_.api().SetDevice(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  const HipRuntime& runtime_;
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace fattn::hip

#endif
