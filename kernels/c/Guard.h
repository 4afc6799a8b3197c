// SPDX-License-Identifier: Apache-2.0
// What the functions of the C interface share: errors become a status and the thread's last error, texts and views change clothes.
#ifndef FATTN_KERNELS_C_GUARD_H
#define FATTN_KERNELS_C_GUARD_H

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

}  // namespace fattn::capi

#endif
