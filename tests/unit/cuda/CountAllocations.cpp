// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of this program, so that a test can see that a function makes none.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/unit/cuda/Support.h"

std::atomic<long> fattn::test::allocations = 0;

void* operator new(std::size_t bytes) {
  ++fattn::test::allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
