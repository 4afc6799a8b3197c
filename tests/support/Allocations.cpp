// SPDX-License-Identifier: Apache-2.0
#include "tests/support/Allocations.h"

#include <cstdlib>
#include <new>

static thread_local long allocationCount = 0;

long fattn::test::allocations() { return allocationCount; }

// All forms that operator delete(void*) frees: the address sanitizer refuses memory of its own operator new there.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocationCount;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
