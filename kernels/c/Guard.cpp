// SPDX-License-Identifier: Apache-2.0
#include "kernels/c/Guard.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

namespace fattn::capi {
namespace {

// What the last failed call of a thread said. `fixed` takes over where there was no memory for the text.
struct LastError {
  std::string text;
  const char* fixed = nullptr;
};
// Other objects of a thread may fail in their destructors, when those of its thread_local objects have run: then there is a new one, which
// nobody destroys.
constexpr const char* kNoMemory = "an error, and no memory left for its text";
LastError* lastError() {
  static thread_local LastError* error = nullptr;
  static thread_local struct Owner {
    ~Owner() { delete std::exchange(error, nullptr); }
    void use() {}
  } owner;
  if (error == nullptr) {
    owner.use();
    error = new (std::nothrow) LastError;
  }
  return error;
}

}  // namespace

fattn_status failed(fattn_status status, const char* function, const char* what) noexcept {
  LastError* last = lastError();
  if (last == nullptr) return status;
  last->fixed = nullptr;
  try {
    last->text.assign(function).append(": ").append(what);
  } catch (const std::bad_alloc&) {
    last->fixed = kNoMemory;
  }
  return status;
}

fattn_status statusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return FATTN_INVALID_ARGUMENT;
    case ErrorCode::Unsupported:
      return FATTN_UNSUPPORTED;
    case ErrorCode::TraceError:
      return FATTN_TRACE_ERROR;
    case ErrorCode::CompileError:
      return FATTN_COMPILE_ERROR;
    case ErrorCode::NoDevice:
      return FATTN_NO_DEVICE;
    case ErrorCode::DeviceError:
      return FATTN_DEVICE_ERROR;
    case ErrorCode::OutOfMemory:
      return FATTN_OUT_OF_MEMORY;
    case ErrorCode::IoError:
      return FATTN_IO_ERROR;
    case ErrorCode::Internal:
      break;
  }
  return FATTN_INTERNAL;
}

const char* lastErrorText() {
  const LastError* last = lastError();
  if (last == nullptr) return kNoMemory;
  return last->fixed != nullptr ? last->fixed : last->text.c_str();
}

/// A copy that C code can own.
char* newString(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

namespace {

constexpr std::array<DType, 9> kDTypes = {DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2,
                                          DType::I1,  DType::I8,  DType::I32,  DType::I64};
static_assert(kDTypes[FATTN_F32] == DType::F32 && kDTypes[FATTN_F16] == DType::F16 && kDTypes[FATTN_BF16] == DType::BF16 &&
              kDTypes[FATTN_F8E4M3] == DType::F8E4M3 && kDTypes[FATTN_F8E5M2] == DType::F8E5M2 && kDTypes[FATTN_I1] == DType::I1 &&
              kDTypes[FATTN_I8] == DType::I8 && kDTypes[FATTN_I32] == DType::I32 && kDTypes[FATTN_I64] == DType::I64);
static_assert(FATTN_MAX_RANK == TensorView::kMaxRank);

}  // namespace

TensorView viewOf(const char* name, const fattn_tensor& tensor) {
  if (tensor.dtype < 0 || static_cast<std::size_t>(tensor.dtype) >= kDTypes.size())
    throw Error(ErrorCode::InvalidArgument, std::string(name) + ": dtype is " + std::to_string(tensor.dtype) +
                                                "; legal values are FATTN_F32 = 0 to FATTN_I64 = " + std::to_string(FATTN_I64));
  if (tensor.rank < 0 || tensor.rank > FATTN_MAX_RANK)
    throw Error(ErrorCode::InvalidArgument, std::string(name) + ": rank is " + std::to_string(tensor.rank) + "; legal values are 0 to " +
                                                std::to_string(FATTN_MAX_RANK));
  auto rank = static_cast<std::size_t>(tensor.rank);
  return {tensor.data, kDTypes[static_cast<std::size_t>(tensor.dtype)], std::span(tensor.shape, rank), std::span(tensor.strides, rank)};
}

}  // namespace fattn::capi
