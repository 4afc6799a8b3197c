// SPDX-License-Identifier: Apache-2.0
#include "fattn/Handles.h"

#include <memory>
#include <new>

#include "kernels/core/CompileProgram.h"
#include "runtime/base/Lifecycle.h"

namespace fattn {

// While busy: no fork comes between a lock that is there and its being known to forks.
std::shared_mutex& ForkSafeMutex::make() {
  const Busy busy;
  auto fresh = std::make_unique<std::shared_mutex>();
  std::shared_mutex* known = nullptr;
  if (!mutex_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return *known;
  std::shared_mutex* made = fresh.release();
  // A lock of this kind knows the thread that took it, which has another number in the child: there it begins anew.
  atFork([made] { made->lock(); }, [made] { made->unlock(); }, [made] { new (made) std::shared_mutex; });
  return *made;
}

void whileCompiling(const std::function<void()>& work) {
  kernels::asErrors([&] {
    const Busy busy;
    work();
  });
}

}  // namespace fattn
