// SPDX-License-Identifier: Apache-2.0
// The C interface to a device's memory.
#include <cstddef>
#include <string>
#include <string_view>

#include "fattn/Device.h"
#include "fattn/c_api.h"
#include "kernels/c/Guard.h"

namespace {

using namespace fattn::capi;

fattn::Device& deviceOf(const char* target) { return fattn::openDevice(target != nullptr ? target : ""); }

std::size_t bytesOf(int64_t bytes) {
  if (bytes < 0) throw fattn::Error(fattn::ErrorCode::InvalidArgument, "bytes is " + std::to_string(bytes) + "; it must not be negative");
  return static_cast<std::size_t>(bytes);
}

}  // namespace

extern "C" {

fattn_status fattn_memory_allocate(const char* target, int64_t bytes, void** memory) {
  return guarded(__func__, [&] {
    requirePointer("memory", memory);
    *memory = deviceOf(target).allocate(bytesOf(bytes));
  });
}

fattn_status fattn_memory_free(const char* target, void* memory) {
  return guarded(__func__, [&] { deviceOf(target).free(memory); });
}

fattn_status fattn_memory_copy(const char* target, void* stream, void* to, const void* from, int64_t bytes) {
  return guarded(__func__, [&] {
    if (bytesOf(bytes) == 0) return;
    requirePointer("to", to);
    requirePointer("from", from);
    deviceOf(target).copy(to, from, bytesOf(bytes), {.native = stream});
  });
}

fattn_status fattn_synchronize(const char* target, void* stream) {
  return guarded(__func__, [&] { deviceOf(target).synchronize({.native = stream}); });
}

}  // extern "C"
