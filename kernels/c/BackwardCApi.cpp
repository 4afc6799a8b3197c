// SPDX-License-Identifier: Apache-2.0
// The C interface to the backward pass.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fattn/c_api.h"
#include "fattn/fattn.h"
#include "kernels/c/Guard.h"
#include "kernels/c/TemplateJson.h"

struct fattn_backward_kernel {
  fattn::BackwardKernel kernel;
  std::atomic<std::int64_t> references{1};
};

namespace {

using namespace fattn::capi;

/// What both kinds of batches have.
template <typename Operands, typename Given>
Operands operandsOf(const Given& given) {
  Operands operands;
  operands.q = viewOf("q", given.q), operands.k = viewOf("k", given.k), operands.v = viewOf("v", given.v);
  operands.o = viewOf("o", given.o), operands.lse = viewOf("lse", given.lse), operands.dout = viewOf("dout", given.dout);
  operands.dq = viewOf("dq", given.dq), operands.dk = viewOf("dk", given.dk), operands.dv = viewOf("dv", given.dv);
  if (!isAllZero(given.dlse)) operands.dlse = viewOf("dlse", given.dlse);
  if (given.scale != nullptr) operands.scale = *given.scale;
  operands.workspace = given.workspace, operands.workspace_bytes = given.workspace_bytes;
  return operands;
}

fattn::BackwardArgs backwardArgsOf(const fattn_attention_backward_args* args) {
  return operandsOf<fattn::BackwardArgs>(
      argsOf(args, offsetof(fattn_attention_backward_args, workspace_bytes) + sizeof(args->workspace_bytes)));
}

fattn::PackedBackwardArgs packedArgsOf(const fattn_packed_backward_args* args) {
  const auto given = argsOf(args, offsetof(fattn_packed_backward_args, workspace_bytes) + sizeof(args->workspace_bytes));
  auto operands = operandsOf<fattn::PackedBackwardArgs>(given);
  operands.cu_q = viewOf("cu_q", given.cu_q), operands.cu_k = viewOf("cu_k", given.cu_k);
  if (given.max_q != 0) operands.max_q = given.max_q;
  if (given.max_k != 0) operands.max_k = given.max_k;
  return operands;
}

}  // namespace

extern "C" {

fattn_status fattn_compile_backward(const char* config, fattn_backward_kernel** kernel) {
  return guarded(__func__, [&] {
    requirePointer("config", config);
    requirePointer("kernel", kernel);
    *kernel = new fattn_backward_kernel{.kernel = fattn::compile(fattn::kernels::parseBackwardConfig(config))};
  });
}

fattn_status fattn_backward_kernel_retain(fattn_backward_kernel* kernel) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    kernel->references.fetch_add(1, std::memory_order_relaxed);
  });
}

void fattn_backward_kernel_release(fattn_backward_kernel* kernel) {
  if (kernel != nullptr && kernel->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete kernel;
}

fattn_status fattn_backward_kernel_info(const fattn_backward_kernel* kernel, char** json) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    requirePointer("json", json);
    *json = newString(fattn::kernels::backwardJson(kernel->kernel));
  });
}

fattn_status fattn_backward_workspace(const fattn_backward_kernel* kernel, const fattn_attention_backward_args* args, int64_t* bytes) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    requirePointer("args", args);
    requirePointer("bytes", bytes);
    *bytes = kernel->kernel.workspaceBytes(backwardArgsOf(args));
  });
}

fattn_status fattn_attention_backward(const fattn_backward_kernel* kernel, void* stream, const fattn_attention_backward_args* args) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    kernel->kernel.launch({.native = stream}, backwardArgsOf(args));
  });
}

fattn_status fattn_packed_backward_workspace(const fattn_backward_kernel* kernel, const fattn_packed_backward_args* args, int64_t* bytes) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    requirePointer("args", args);
    requirePointer("bytes", bytes);
    *bytes = kernel->kernel.workspaceBytesPacked(packedArgsOf(args));
  });
}

fattn_status fattn_packed_backward(const fattn_backward_kernel* kernel, void* stream, const fattn_packed_backward_args* args) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    kernel->kernel.launchPacked({.native = stream}, packedArgsOf(args));
  });
}

}  // extern "C"
