// SPDX-License-Identifier: Apache-2.0
// The CUDA driver of this machine: its library, opened and initialized, and its errors in words.
#ifndef FATTN_RUNTIME_CUDA_DRIVER_H
#define FATTN_RUNTIME_CUDA_DRIVER_H

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/DriverApi.h"

namespace fattn::cuda {

/// A CUDA version as the driver counts it, in words: 12040 -> "12.4".
std::string cudaVersion(int version);

class Driver {
 public:
  /// Opens the first of `libraries` that is there, finds its functions, and initializes the driver. Throws Error{NoDevice} where there
  /// is no such library, where it is too old to have a function that is needed, or where it finds no GPU that it can use.
  explicit Driver(const std::vector<std::string>& libraries);

  const DriverApi& api() const { return api_; }
  /// The newest CUDA version the driver supports, as 1000 * major + 10 * minor.
  int version() const { return version_; }
  int deviceCount() const { return count_; }

  /// "CUDA_ERROR_INVALID_VALUE: invalid argument".
  std::string text(Result result) const;
  /// Throws unless `result` is success. `doing` completes the sentence "could not ...".
  void check(Result result, std::string_view doing) const {
    if (result != kSuccess) [[unlikely]]
      fail(result, doing);
  }
  [[noreturn]] void fail(Result result, std::string_view doing) const;

 private:
  DriverApi api_;
  int version_ = 0, count_ = 0;
};

/// Whether a result says that the context is lost: every later call in it fails with the same result.
bool isSticky(Result result);

/// Makes a context the calling thread's current one for the life of this object, and puts back what was current before.
class ContextScope {
 public:
  ContextScope(const Driver& driver, Context context) : driver_(driver) {
    Context current = nullptr;
    // Reading the current context is cheaper than the push and pop that it often saves: the CUDA runtime, too, works in primary contexts.
    if (driver.api().CtxGetCurrent(&current) == kSuccess && current == context) return;
    driver.check(driver.api().CtxPushCurrent(context), "make the GPU's primary context current");
    pushed_ = true;
  }
  ~ContextScope() {
    Context popped = nullptr;
    if (pushed_) driver_.api().CtxPopCurrent(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

}  // namespace fattn::cuda

#endif
