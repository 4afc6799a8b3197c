// SPDX-License-Identifier: Apache-2.0
// A loop over several threads, for the reference and the random inputs.
#ifndef FATTN_TOOLS_IO_PARALLEL_H
#define FATTN_TOOLS_IO_PARALLEL_H

#include <cstdint>
#include <functional>

namespace fattn::io {

/// Calls body(0) .. body(count - 1), each once, in any order, from up to `threads` threads (0: one a core). Returns when all are done.
/// An exception of a body ends the loop early and is thrown here.
void parallelFor(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body);

}  // namespace fattn::io

#endif
