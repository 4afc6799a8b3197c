// SPDX-License-Identifier: Apache-2.0
// Memory that has to be there before work begins that cannot be undone when it runs out: LLVM ends the process where an allocation fails.
#ifndef FATTN_RUNTIME_BASE_HEADROOM_H
#define FATTN_RUNTIME_BASE_HEADROOM_H

#include <cstddef>

namespace fattn {

/// As long as one of these lives, so many bytes are counted as about to be used. Nothing is kept: whether the system would map them, beside
/// those of all others that live, is asked once. That holds limits on the address space and on data, and systems that promise no more
/// than they have. What ends processes that use too much (a container's limit) is not asked, as it has no answer.
class Headroom {
 public:
  /// Throws Error{OutOfMemory} where the bytes cannot be mapped.
  explicit Headroom(std::size_t bytes);
  ~Headroom();
  Headroom(const Headroom&) = delete;
  Headroom& operator=(const Headroom&) = delete;

 private:
  std::size_t bytes_;
};

}  // namespace fattn

#endif
