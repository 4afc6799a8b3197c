// SPDX-License-Identifier: Apache-2.0
// Kernels written by hand for the tests on a GPU, as binaries for sm_80 and later.
#ifndef FATTN_TESTS_UNIT_CUDA_GPUPTX_H
#define FATTN_TESTS_UNIT_CUDA_GPUPTX_H

#include <string>

#include "runtime/base/Binary.h"

namespace fattn::test {

inline compiler::Binary gpuKernel(const std::string& parameters, const std::string& body, int threads = 128) {
  return {.target = "nvidia:sm_80",
          .entry = "kernel",
          .bytes = ".version 7.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 shared[];\n.visible .entry kernel(" +
                   parameters + ")\n{\n" + body + "  ret;\n}\n",
          .args = {},
          .threads = threads};
}

/// c[i] = a[i] + b[i] for i below n: (a, b, c, n).
inline compiler::Binary addKernel() {
  compiler::Binary binary = gpuKernel(".param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n", R"(
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r1, [n];
  setp.ge.s32 %p1, %r4, %r1;
  @%p1 ret;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  mul.wide.s32 %rd4, %r4, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
)");
  binary.args = {{"a", true, DType::F32}, {"b", true, DType::F32}, {"c", true, DType::F32}, {"n", false, DType::I32}};
  return binary;
}

/// Nothing, with no arguments or with the 26 of echoKernel().
inline compiler::Binary emptyKernel() { return gpuKernel("", ""); }

/// out[i] = argument i, for 26 arguments of all sizes; out is argument 0. The bits behind a narrow value come back as 0.
inline compiler::Binary echoKernel(bool empty = false) {
  static constexpr struct {
    const char *type, *load;
    bool pointer;
    DType dtype;
  } kKinds[] = {{".u64", "ld.param.u64", true, DType::BF16}, {".u8", "ld.param.u8", false, DType::I8},
                {".f32", "ld.param.u32", false, DType::F32}, {".u64", "ld.param.u64", false, DType::I64},
                {".u32", "ld.param.u32", false, DType::I32}, {".u8", "ld.param.u8", false, DType::I1}};
  std::string parameters, body = "  .reg .b64 %out, %v;\n  .reg .b32 %w;\n  ld.param.u64 %out, [p0];\n";
  std::vector<compiler::ArgInfo> arguments;
  for (int i = 0; i < 26; ++i) {
    const auto& kind = kKinds[i % 6];
    std::string name = "p" + std::to_string(i);
    parameters += (i ? ", .param " : ".param ") + std::string(kind.type) + " " + name;
    bool wide = std::string_view(kind.type) == ".u64";
    body += "  " + std::string(kind.load) + (wide ? " %v" : " %w") + ", [" + name + "];\n" + (wide ? "" : "  cvt.u64.u32 %v, %w;\n") +
            "  st.global.u64 [%out+" + std::to_string(8 * i) + "], %v;\n";
    arguments.push_back({name, kind.pointer, kind.dtype});
  }
  compiler::Binary binary = gpuKernel(parameters, empty ? "" : body, empty ? 128 : 1);
  binary.args = arguments;
  return binary;
}

/// out[i] = i, through the last bytes of `sharedBytes` of dynamic shared memory: (out, offset of those bytes), one block of 128.
inline compiler::Binary sharedKernel(std::int64_t sharedBytes) {
  compiler::Binary binary = gpuKernel(".param .u64 out, .param .u32 offset", R"(
  .reg .b32 %r<7>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  ld.param.u32 %r2, [offset];
  mov.u32 %r3, shared;
  add.s32 %r2, %r2, %r3;
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r2, %r4;
  st.shared.u32 [%r5], %r1;
  bar.sync 0;
  xor.b32 %r6, %r4, 508;
  add.s32 %r5, %r2, %r6;
  ld.shared.u32 %r3, [%r5];
  ld.param.u64 %rd1, [out];
  cvt.u64.u32 %rd2, %r6;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
)");
  binary.args = {{"out", true, DType::I32}, {"offset", false, DType::I32}};
  binary.sharedBytes = sharedBytes;
  return binary;
}

/// A long chain of multiplications and additions, to see what the assembler takes.
inline compiler::Binary longKernel(int lines) {
  std::string body = "  .reg .b64 %out;\n  .reg .f32 %f<9>;\n  ld.param.u64 %out, [out];\n";
  for (int i = 0; i < 9; ++i) body += "  ld.global.f32 %f" + std::to_string(i) + ", [%out+" + std::to_string(4 * i) + "];\n";
  for (int i = 0; i < lines; ++i) {
    std::string d = "%f" + std::to_string(i % 9), b = "%f" + std::to_string((i + 4) % 9);
    body.append("  fma.rn.f32 ").append(d).append(", ").append(d).append(", ").append(b).append(", ").append(d).append(";\n");
  }
  compiler::Binary binary = gpuKernel(".param .u64 out", body + "  st.global.f32 [%out], %f8;\n");
  binary.args = {{"out", true, DType::F32}};
  return binary;
}

}  // namespace fattn::test

#endif
