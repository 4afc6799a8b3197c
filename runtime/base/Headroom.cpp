// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Headroom.h"

#include <sys/mman.h>

#include <atomic>
#include <string>

#include "fattn/Error.h"

namespace fattn {
namespace {

constinit std::atomic<std::size_t> counted{0};

}  // namespace

Headroom::Headroom(std::size_t bytes) : bytes_(bytes) {
  const std::size_t all = counted.fetch_add(bytes) + bytes;
  void* map = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    counted.fetch_sub(bytes);
    throw Error(ErrorCode::OutOfMemory, "the host has no memory left to compile in: " + std::to_string(all >> 20) + " MiB cannot be had");
  }
  munmap(map, all);
}

Headroom::~Headroom() { counted.fetch_sub(bytes_); }

}  // namespace fattn
