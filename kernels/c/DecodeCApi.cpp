// SPDX-License-Identifier: Apache-2.0
// The C interface to decode.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fattn/c_api.h"
#include "fattn/fattn.h"
#include "kernels/c/Guard.h"
#include "kernels/c/TemplateJson.h"

struct fattn_decode_kernel {
  fattn::DecodeKernel kernel;
  std::atomic<std::int64_t> references{1};
};

namespace {

using namespace fattn::capi;

fattn::DecodeArgs decodeArgsOf(const fattn_attention_decode_args* args) {
  const auto given = argsOf(args, offsetof(fattn_attention_decode_args, workspace_bytes) + sizeof(args->workspace_bytes));
  fattn::DecodeArgs operands;
  operands.q = viewOf("q", given.q), operands.k = viewOf("k", given.k), operands.v = viewOf("v", given.v),
  operands.o = viewOf("o", given.o);
  if (!isAllZero(given.lse)) operands.lse = viewOf("lse", given.lse);
  if (!isAllZero(given.lengths)) operands.lengths = viewOf("lengths", given.lengths);
  if (!isAllZero(given.pages)) operands.pages = viewOf("pages", given.pages);
  if (given.scale != nullptr) operands.scale = *given.scale;
  if (given.keys > 0) operands.keys = given.keys;
  operands.splits = static_cast<int>(std::clamp<std::int64_t>(given.splits, -1, INT32_MAX));
  if (!isAllZero(given.new_k)) operands.new_k = viewOf("new_k", given.new_k);
  if (!isAllZero(given.new_v)) operands.new_v = viewOf("new_v", given.new_v);
  operands.window = given.window;
  operands.counters = given.counters, operands.counter_bytes = given.counter_bytes;
  operands.workspace = given.workspace, operands.workspace_bytes = given.workspace_bytes;
  return operands;
}

}  // namespace

extern "C" {

fattn_status fattn_compile_decode(const char* config, fattn_decode_kernel** kernel) {
  return guarded(__func__, [&] {
    requirePointer("config", config);
    requirePointer("kernel", kernel);
    *kernel = new fattn_decode_kernel{.kernel = fattn::compile(fattn::kernels::parseDecodeConfig(config))};
  });
}

fattn_status fattn_decode_kernel_retain(fattn_decode_kernel* kernel) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    kernel->references.fetch_add(1, std::memory_order_relaxed);
  });
}

void fattn_decode_kernel_release(fattn_decode_kernel* kernel) {
  if (kernel != nullptr && kernel->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete kernel;
}

fattn_status fattn_decode_kernel_info(const fattn_decode_kernel* kernel, char** json) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    requirePointer("json", json);
    *json = newString(fattn::kernels::toJson(kernel->kernel.info(), kernel->kernel.args()));
  });
}

fattn_status fattn_decode_workspace(const fattn_decode_kernel* kernel, const fattn_attention_decode_args* args, int64_t* bytes) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    requirePointer("bytes", bytes);
    *bytes = args == nullptr ? kernel->kernel.workspaceBytes() : kernel->kernel.workspaceBytes(decodeArgsOf(args));
  });
}

fattn_status fattn_attention_decode(const fattn_decode_kernel* kernel, void* stream, const fattn_attention_decode_args* args) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    kernel->kernel.launch({.native = stream}, decodeArgsOf(args));
  });
}

}  // extern "C"
