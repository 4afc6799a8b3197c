// SPDX-License-Identifier: Apache-2.0
// The C interface over the C++ one. Everything here is public C++ API in plain clothes: no exception and no C++ type gets out.
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fattn/c_api.h"
#include "fattn/fattn.h"
#include "kernels/c/ConfigJson.h"
#include "kernels/c/Guard.h"

struct fattn_kernel {
  fattn::Kernel kernel;
  std::atomic<std::int64_t> references{1};
};

namespace {

using fattn::Error;
using namespace fattn::capi;

fattn::AttentionConfig configOf(const char* config) {
  requirePointer("config", config);
  return fattn::kernels::parseConfig(config);
}

}  // namespace

extern "C" {

const char* fattn_status_name(fattn_status status) {
  static constexpr std::array<const char*, 10> names = {"ok",        "invalid-argument", "unsupported",   "trace-error", "compile-error",
                                                        "no-device", "device-error",     "out-of-memory", "io-error",    "internal"};
  return status >= 0 && static_cast<std::size_t>(status) < names.size() ? names[static_cast<std::size_t>(status)] : "unknown-status";
}

const char* fattn_last_error(void) { return fattn::capi::lastErrorText(); }

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
