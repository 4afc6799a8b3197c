// SPDX-License-Identifier: Apache-2.0
// The C interface over the C++ one. Everything here is public C++ API in plain clothes: no exception and no C++ type gets out.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fattn/c_api.h"
#include "fattn/fattn.h"
#include "kernels/c/ConfigJson.h"

struct fattn_kernel {
  fattn::Kernel kernel;
  std::atomic<std::int64_t> references{1};
};

namespace {

using fattn::DType;
using fattn::Error;
using fattn::ErrorCode;
using fattn::TensorView;

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

fattn::AttentionConfig configOf(const char* config) {
  requirePointer("config", config);
  return fattn::kernels::parseConfig(config);
}

/// A copy that C code can own.
char* newString(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

constexpr std::array<DType, 9> kDTypes = {DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2,
                                          DType::I1,  DType::I8,  DType::I32,  DType::I64};
static_assert(kDTypes[FATTN_F32] == DType::F32 && kDTypes[FATTN_F16] == DType::F16 && kDTypes[FATTN_BF16] == DType::BF16 &&
              kDTypes[FATTN_F8E4M3] == DType::F8E4M3 && kDTypes[FATTN_F8E5M2] == DType::F8E5M2 && kDTypes[FATTN_I1] == DType::I1 &&
              kDTypes[FATTN_I8] == DType::I8 && kDTypes[FATTN_I32] == DType::I32 && kDTypes[FATTN_I64] == DType::I64);
static_assert(FATTN_MAX_RANK == TensorView::kMaxRank);

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

bool isAllZero(const fattn_tensor& tensor) {
  static const fattn_tensor none{};
  return std::memcmp(&tensor, &none, sizeof(tensor)) == 0;
}

}  // namespace

extern "C" {

const char* fattn_status_name(fattn_status status) {
  static constexpr std::array<const char*, 10> names = {"ok",        "invalid-argument", "unsupported",   "trace-error", "compile-error",
                                                        "no-device", "device-error",     "out-of-memory", "io-error",    "internal"};
  return status >= 0 && static_cast<std::size_t>(status) < names.size() ? names[static_cast<std::size_t>(status)] : "unknown-status";
}

const char* fattn_last_error(void) {
  const LastError* last = lastError();
  if (last == nullptr) return kNoMemory;
  return last->fixed != nullptr ? last->fixed : last->text.c_str();
}

const char* fattn_version(void) { return fattn::version().data(); }  // a literal, so that a zero ends it

int32_t fattn_c_api_version(void) { return FATTN_C_API_VERSION; }

void fattn_string_free(char* text) { std::free(text); }

fattn_status fattn_supports(const char* config) {
  return guarded(__func__, [&] {
    if (auto verdict = fattn::supports(configOf(config)); !verdict)
      throw Error(verdict.error().code(), verdict.error().constraint(), verdict.error().hint());
  });
}

fattn_status fattn_explain(const char* config, char** text) {
  return guarded(__func__, [&] {
    requirePointer("text", text);
    *text = newString(fattn::explain(configOf(config)));
  });
}

fattn_status fattn_devices(char** json) {
  return guarded(__func__, [&] {
    requirePointer("json", json);
    *json = newString(fattn::kernels::toJson(fattn::listDevices()));
  });
}

fattn_status fattn_compile(const char* config, fattn_kernel** kernel) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    *kernel = new fattn_kernel{.kernel = fattn::compile(configOf(config))};
  });
}

fattn_status fattn_kernel_retain(fattn_kernel* kernel) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    kernel->references.fetch_add(1, std::memory_order_relaxed);
  });
}

void fattn_kernel_release(fattn_kernel* kernel) {
  if (kernel != nullptr && kernel->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete kernel;
}

fattn_status fattn_kernel_info(const fattn_kernel* kernel, char** json) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    requirePointer("json", json);
    *json = newString(fattn::kernels::toJson(kernel->kernel.info()));
  });
}

fattn_status fattn_warmup(const char* const* configs, size_t count) {
  return guarded(__func__, [&] {
    if (count > 0) requirePointer("configs", configs);
    std::vector<fattn::AttentionConfig> parsed;
    for (std::size_t i = 0; i < count; ++i) {
      requirePointer(("configs[" + std::to_string(i) + "]").c_str(), configs[i]);
      parsed.push_back(fattn::kernels::parseConfig(configs[i]));
    }
    fattn::warmup(parsed);
  });
}

fattn_status fattn_attention_forward(const fattn_kernel* kernel, void* stream, const fattn_attention_forward_args* args) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    const auto given = argsOf(args, offsetof(fattn_attention_forward_args, scale) + sizeof(args->scale));
    fattn::AttentionArgs operands{
        .q = viewOf("q", given.q), .k = viewOf("k", given.k), .v = viewOf("v", given.v), .o = viewOf("o", given.o)};
    if (!isAllZero(given.lse)) operands.lse = viewOf("lse", given.lse);
    if (given.scale != nullptr) operands.scale = *given.scale;
    kernel->kernel.launch({.native = stream}, operands);
  });
}

fattn_status fattn_host_set_num_threads(int32_t threads) {
  return guarded(__func__, [&] { fattn::host::setNumThreads(threads); });
}

fattn_status fattn_host_num_threads(int32_t* threads) {
  return guarded(__func__, [&] {
    requirePointer("threads", threads);
    *threads = fattn::host::numThreads();
  });
}

}  // extern "C"
