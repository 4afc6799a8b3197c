// SPDX-License-Identifier: Apache-2.0
// What the functions of the C interface share: errors become a status and the thread's last error, texts and views change clothes.
#ifndef FATTN_KERNELS_C_GUARD_H
#define FATTN_KERNELS_C_GUARD_H

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "fattn/Error.h"
#include "fattn/TensorView.h"
#include "fattn/c_api.h"

namespace fattn::capi {

fattn_status failed(fattn_status status, const char* function, const char* what) noexcept;
fattn_status statusOf(ErrorCode code);
const char* lastErrorText();

/// Runs the body of a C function; whatever it throws becomes a status and the thread's last error.
template <typename Body>
fattn_status guarded(const char* function, Body body) noexcept {
  try {
    body();
    return FATTN_OK;
  } catch (const Error& error) {
    return failed(statusOf(error.code()), function, error.what());
  } catch (const std::bad_alloc&) {
    return failed(FATTN_OUT_OF_MEMORY, function, "out of host memory");
  } catch (const std::exception& error) {
    return failed(FATTN_INTERNAL, function, error.what());
  } catch (...) {
    return failed(FATTN_INTERNAL, function, "an unknown exception");
  }
}

template <typename Pointer>
void requirePointer(const char* name, Pointer pointer) {
  if (pointer == nullptr) throw Error(ErrorCode::InvalidArgument, std::string(name) + " is NULL");
}

/// A copy that C code can own.
char* newString(std::string_view text);
TensorView viewOf(const char* name, const fattn_tensor& tensor);

/// A caller's struct, which may be shorter or longer than ours: members it lacks are zero, members that only it has must be.
template <typename Args>
Args argsOf(const Args* given, std::size_t oldestSize) {
  requirePointer("args", given);
  const std::size_t size = given->struct_size;
  if (size < oldestSize)
    throw Error(ErrorCode::InvalidArgument,
                "args: struct_size is " + std::to_string(size) + "; it must be at least " + std::to_string(oldestSize),
                "set it to the sizeof of the struct");
  // A program built against a much later header than ours still has a struct of a few kilobytes at the most.
  constexpr std::size_t largest = 1 << 16;
  bool known = size <= largest;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Args); known && i < size; ++i) known = bytes[i] == 0;
  if (!known)
    throw Error(ErrorCode::InvalidArgument,
                "args: struct_size is " + std::to_string(size) + ", of which this version of fattn knows " + std::to_string(sizeof(Args)) +
                    " bytes; the others must be 0",
                "the program uses what only a later version of fattn has");
  Args args{};
  std::memcpy(&args, given, std::min(size, sizeof(Args)));
  return args;
}

/// Whether an optional tensor was left out.
inline bool isAllZero(const fattn_tensor& tensor) {
  static const fattn_tensor none{};
  return std::memcmp(&tensor, &none, sizeof(tensor)) == 0;
}

}  // namespace fattn::capi

#endif
