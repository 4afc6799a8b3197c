// SPDX-License-Identifier: Apache-2.0
// The functions that compiled host code may call.
#ifndef FATTN_RUNTIME_HOST_SYMBOLS_H
#define FATTN_RUNTIME_HOST_SYMBOLS_H

#include <span>

namespace fattn::host {

struct Symbol {
  const char* name;
  void* address;
};

/// All of them. A closed list with addresses taken by the linker, not a search of the process: a program that brings its own
/// `expf` does not change what our kernels compute, and an object file cannot reach anything else.
std::span<const Symbol> symbols();

}  // namespace fattn::host

#endif
