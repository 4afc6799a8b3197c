// SPDX-License-Identifier: Apache-2.0
// The C interface to attention of packed sequences.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fattn/c_api.h"
#include "fattn/fattn.h"
#include "kernels/c/Guard.h"
#include "kernels/c/TemplateJson.h"

struct fattn_varlen_kernel {
  fattn::VarlenKernel kernel;
  std::atomic<std::int64_t> references{1};
};

namespace {

using namespace fattn::capi;

}  // namespace

extern "C" {

fattn_status fattn_compile_varlen(const char* config, fattn_varlen_kernel** kernel) {
  return guarded(__func__, [&] {
    requirePointer("config", config);
    requirePointer("kernel", kernel);
    *kernel = new fattn_varlen_kernel{.kernel = fattn::compile(fattn::kernels::parseVarlenConfig(config))};
  });
}

fattn_status fattn_varlen_kernel_retain(fattn_varlen_kernel* kernel) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    kernel->references.fetch_add(1, std::memory_order_relaxed);
  });
}

void fattn_varlen_kernel_release(fattn_varlen_kernel* kernel) {
  if (kernel != nullptr && kernel->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete kernel;
}

fattn_status fattn_varlen_kernel_info(const fattn_varlen_kernel* kernel, char** json) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    requirePointer("json", json);
    *json = newString(fattn::kernels::toJson(kernel->kernel.info(), kernel->kernel.args()));
  });
}

fattn_status fattn_attention_varlen(const fattn_varlen_kernel* kernel, void* stream, const fattn_attention_varlen_args* args) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    const auto given = argsOf(args, offsetof(fattn_attention_varlen_args, scale) + sizeof(args->scale));
    fattn::VarlenArgs operands;
    operands.q = viewOf("q", given.q), operands.k = viewOf("k", given.k), operands.v = viewOf("v", given.v);
    operands.o = viewOf("o", given.o), operands.cu_q = viewOf("cu_q", given.cu_q), operands.cu_k = viewOf("cu_k", given.cu_k);
    if (!isAllZero(given.lse)) operands.lse = viewOf("lse", given.lse);
    if (given.max_q != 0) operands.max_q = given.max_q;
    if (given.scale != nullptr) operands.scale = *given.scale;
    kernel->kernel.launch({.native = stream}, operands);
  });
}

}  // extern "C"
