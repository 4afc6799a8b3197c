// SPDX-License-Identifier: Apache-2.0
// Whole kernels, compiled by LLVM from IR, against references.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/simulator/KernelFixture.h"
#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

class Kernels : public KernelFixture {};
INSTANTIATE_TEST_SUITE_P(Chips, Kernels, testing::Values("gfx942", "gfx950", "gfx1100", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Kernels, VectorAdd) {
  std::vector<float> a(777), b(777), c(777, -1.0F);
  std::iota(a.begin(), a.end(), 0.5F);
  std::iota(b.begin(), b.end(), 100.0F);
  buffer("a", a);
  buffer("b", b);
  buffer("c", c);
  runIr(R"(
define amdgpu_kernel void @add(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %g, 256
  %i = add i32 %base, %t
  %in = icmp ult i32 %i, 777
  br i1 %in, label %work, label %done
work:
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i32 %i
  %pc = getelementptr float, ptr addrspace(1) %c, i32 %i
  %x = load float, ptr addrspace(1) %pa
  %y = load float, ptr addrspace(1) %pb
  %z = fadd float %x, %y
  store float %z, ptr addrspace(1) %pc
  br label %done
done:
  ret void
})",
        "add", 4, 256);
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

/// A tree of ds_bpermute: after it every lane has the sum of its wave.
std::string permuteTree(int lanes) {
  std::string body, sum = "%x";
  for (int k = 1; k < lanes; k *= 2) {
    body += fmt::format(R"(
  %other{0} = xor i32 %t, {0}
  %address{0} = shl i32 %other{0}, 2
  %moved{0} = call i32 @llvm.amdgcn.ds.bpermute(i32 %address{0}, i32 {1})
  %sum{0} = add i32 {1}, %moved{0}
)",
                        k, sum);
    sum = fmt::format("%sum{}", k);
  }
  return body + fmt::format("  %result = add i32 {}, 0\n", sum);
}

/// DPP sums rows of 16 lanes; lanes then exchange them between rows as each chip can.
std::string dppTree(bool cdna) {
  std::string body, sum = "%x";
  int number = 0;
  auto step = [&](const std::string& value) {
    body += fmt::format("  %m{0} = {1}\n  %s{0} = add i32 {2}, %m{0}\n", number, value, sum);
    sum = fmt::format("%s{}", number++);
  };
  for (int control : {0xb1, 0x4e, 0x141, 0x140})  // quad_perm:[1,0,3,2], quad_perm:[2,3,0,1], row_half_mirror, row_mirror
    step(fmt::format("call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 {}, i32 {}, i32 15, i32 15, i1 true)", sum, control));
  if (cdna) {
    for (int lane : {0, 16, 32, 48}) body += fmt::format("  %row{0} = call i32 @llvm.amdgcn.readlane.i32(i32 {1}, i32 {0})\n", lane, sum);
    return body + "  %a = add i32 %row0, %row16\n  %b = add i32 %row32, %row48\n  %result = add i32 %a, %b\n";
  }
  step(fmt::format("call i32 @llvm.amdgcn.permlanex16.i32(i32 poison, i32 {}, i32 1985229328, i32 -19088744, i1 false, i1 false)", sum));
  return body + fmt::format("  %result = add i32 {}, 0\n", sum);
}

std::string sumKernel(const std::string& tree) {
  return R"(
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32 immarg, i32 immarg, i32 immarg, i1 immarg)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i32 @llvm.amdgcn.permlanex16.i32(i32, i32, i32, i32, i1 immarg, i1 immarg)
define amdgpu_kernel void @sum(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %x = load i32, ptr addrspace(1) %p
)" + tree +
         R"(
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %result, ptr addrspace(1) %q
  ret void
})";
}

TEST_P(Kernels, SumsOfWavesByPermutesAndByDpp) {
  for (const std::string& tree : {permuteTree(lanes()), dppTree(isCdna())}) {
    auto self = std::vector<std::uint32_t>(128), out = std::vector<std::uint32_t>(128);
    Numbers random(3);
    for (std::uint32_t& x : self) x = random();
    forgetBuffers();
    buffer("in", self);
    buffer("out", out);
    runIr(sumKernel(tree), "sum", 1, 128);
    for (std::size_t i = 0; i < out.size(); ++i) {
      auto first = self.begin() + static_cast<std::ptrdiff_t>(i) / lanes() * lanes();
      ASSERT_EQ(out[i], std::accumulate(first, first + lanes(), 0U)) << i;
    }
  }
}

/// 32 x 32 through local memory with rows of `pitch`: 8 rows of the tile at a time, in by rows, out by columns.
std::string transposeKernel(int pitch) {
  std::string body = fmt::format(R"(
@tile = internal addrspace(3) global [{} x float] poison, align 16
define amdgpu_kernel void @transpose(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {{
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %column = and i32 %t, 31
  %row = lshr i32 %t, 5
)",
                                 32 * pitch);
  auto part = [&](int k, bool store) {
    std::string n = fmt::format("{}{}", store ? "s" : "l", k);
    body += fmt::format(R"(
  %row{0} = add i32 %row, {1}
  %first{0} = mul i32 %row{0}, 32
  %i{0} = add i32 %first{0}, %column
  %global{0} = getelementptr float, ptr addrspace(1) {2}, i32 %i{0}
  %line{0} = mul i32 {3}, {4}
  %j{0} = add i32 %line{0}, {5}
  %local{0} = getelementptr float, ptr addrspace(3) @tile, i32 %j{0}
)",
                        n, k * 8, store ? "%out" : "%in", store ? "%column" : "%row" + n, pitch, store ? "%row" + n : "%column");
    std::string global = fmt::format("ptr addrspace(1) %global{}", n), local = fmt::format("ptr addrspace(3) %local{}", n);
    body += fmt::format("  %v{0} = load float, {1}\n  store float %v{0}, {2}\n", n, store ? local : global, store ? global : local);
  };
  for (int k = 0; k < 4; ++k) part(k, false);
  body += "  fence syncscope(\"workgroup\") release\n  call void @llvm.amdgcn.s.barrier()\n  fence syncscope(\"workgroup\") acquire\n";
  for (int k = 0; k < 4; ++k) part(k, true);
  return body + "  ret void\n}\n";
}

TEST_P(Kernels, TransposeThroughLocalMemory) {
  std::vector<float> in(1024), out(1024);
  std::iota(in.begin(), in.end(), 1.0F);
  buffer("in", in);
  buffer("out", out);
  auto plain = runIr(transposeKernel(32), "transpose", 1, 256), padded = runIr(transposeKernel(33), "transpose", 1, 256);
  for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(out[i], in[i % 32 * 32 + i / 32]) << i;
  EXPECT_EQ(plain.barriers, 1U);
  // 32 stores of 32 lanes in a pass each; without padding the 32 lanes of a load want one bank, with it each its own.
  EXPECT_EQ(plain.ldsMinimalPasses, 64U);
  EXPECT_EQ(plain.ldsPasses, 32U + 32 * 32);
  EXPECT_EQ(padded.ldsPasses, padded.ldsMinimalPasses);
}

/// C = A B, 64 x 64 x 48, each block a tile of 16 x 16, over slices of 16 through local memory.
constexpr const char* kProduct = R"(
@as = internal addrspace(3) global [16 x [16 x float]] poison, align 16
@bs = internal addrspace(3) global [16 x [16 x float]] poison, align 16
define amdgpu_kernel void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %tx = and i32 %t, 15
  %ty = lshr i32 %t, 4
  %gx = and i32 %g, 3
  %gy = lshr i32 %g, 2
  %r0 = mul i32 %gy, 16
  %row = add i32 %r0, %ty
  %c0 = mul i32 %gx, 16
  %column = add i32 %c0, %tx
  br label %slice
slice:
  %k = phi i32 [ 0, %0 ], [ %k.next, %summed ]
  %sum = phi float [ 0.0, %0 ], [ %sum.next, %summed ]
  %ka = add i32 %k, %tx
  %ra = mul i32 %row, 48
  %ia = add i32 %ra, %ka
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %ia
  %va = load float, ptr addrspace(1) %pa
  %kb = add i32 %k, %ty
  %rb = mul i32 %kb, 64
  %ib = add i32 %rb, %column
  %pb = getelementptr float, ptr addrspace(1) %b, i32 %ib
  %vb = load float, ptr addrspace(1) %pb
  %la = getelementptr [16 x [16 x float]], ptr addrspace(3) @as, i32 0, i32 %ty, i32 %tx
  %lb = getelementptr [16 x [16 x float]], ptr addrspace(3) @bs, i32 0, i32 %ty, i32 %tx
  store float %va, ptr addrspace(3) %la
  store float %vb, ptr addrspace(3) %lb
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %inner
inner:
  %j = phi i32 [ 0, %slice ], [ %j.next, %inner ]
  %s = phi float [ %sum, %slice ], [ %sum.next, %inner ]
  %qa = getelementptr [16 x [16 x float]], ptr addrspace(3) @as, i32 0, i32 %ty, i32 %j
  %qb = getelementptr [16 x [16 x float]], ptr addrspace(3) @bs, i32 0, i32 %j, i32 %tx
  %xa = load float, ptr addrspace(3) %qa
  %xb = load float, ptr addrspace(3) %qb
  %m = fmul float %xa, %xb
  %sum.next = fadd float %s, %m
  %j.next = add i32 %j, 1
  %more = icmp ult i32 %j.next, 16
  br i1 %more, label %inner, label %summed
summed:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %k.next = add i32 %k, 16
  %again = icmp ult i32 %k.next, 48
  br i1 %again, label %slice, label %done
done:
  %rc = mul i32 %row, 64
  %ic = add i32 %rc, %column
  %pc = getelementptr float, ptr addrspace(1) %c, i32 %ic
  store float %sum.next, ptr addrspace(1) %pc
  ret void
})";

TEST_P(Kernels, AProductWithALoopOverSharedSlices) {
  std::vector<float> a(64 * 48), b(48 * 64), c(64 * 64);
  Numbers random(5);
  for (auto* matrix : {&a, &b})
    for (float& x : *matrix) x = static_cast<float>(static_cast<int>(random() % 17)) - 8.0F;
  buffer("a", a);
  buffer("b", b);
  buffer("c", c);
  auto statistics = runIr(kProduct, "product", 16, 256);
  EXPECT_EQ(statistics.barriers, 16U * 6);
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t column = 0; column < 64; ++column) {
      float expected = 0;
      for (std::size_t k = 0; k < 48; ++k) expected += a[row * 48 + k] * b[k * 64 + column];
      ASSERT_EQ(c[row * 64 + column], expected) << row << ", " << column;
    }
}

/// LLVM's division of IEEE's accuracy goes through v_div_scale, v_div_fmas and v_div_fixup.
TEST_P(Kernels, DivisionsAreExact) {
  std::vector<float> a(256), b(256), quotient(256);
  Numbers random(11);
  for (auto* values : {&a, &b})
    for (float& x : *values) x = std::ldexp(static_cast<float>(random() % 65536) - 32768.0F, static_cast<int>(random() % 120) - 60);
  a[0] = 1.0F, b[0] = 0.0F, a[1] = 0.0F, b[1] = 3.0F, a[2] = std::numeric_limits<float>::infinity(), b[2] = 2.0F, a[3] = 1e38F,
  b[3] = 1e-3F;
  buffer("a", a);
  buffer("b", b);
  buffer("quotient", quotient);
  runIr(R"(
define amdgpu_kernel void @divide(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i32 %i
  %pc = getelementptr float, ptr addrspace(1) %c, i32 %i
  %x = load float, ptr addrspace(1) %pa
  %y = load float, ptr addrspace(1) %pb
  %z = fdiv float %x, %y
  store float %z, ptr addrspace(1) %pc
  ret void
})",
        "divide", 1, 256);
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(quotient[i], a[i] / b[i]) << a[i] << " / " << b[i];
}

/// Indices of a lane's own array that are not known when the kernel is compiled: scratch memory.
TEST_P(Kernels, OwnMemoryOfLanes) {
  std::vector<std::uint32_t> in(64), out(64);
  std::iota(in.begin(), in.end(), 0U);
  buffer("in", in);
  buffer("out", out);
  runIr(R"(
define amdgpu_kernel void @own(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %array = alloca [64 x i32], addrspace(5)
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  br label %fill
fill:
  %i = phi i32 [ 0, %0 ], [ %next, %fill ]
  %p = getelementptr [64 x i32], ptr addrspace(5) %array, i32 0, i32 %i
  %v = mul i32 %i, %i
  store volatile i32 %v, ptr addrspace(5) %p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 64
  br i1 %more, label %fill, label %read
read:
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %index = load i32, ptr addrspace(1) %pi
  %q = getelementptr [64 x i32], ptr addrspace(5) %array, i32 0, i32 %index
  %square = load volatile i32, ptr addrspace(5) %q
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %square, ptr addrspace(1) %po
  ret void
})",
        "own", 1, 64);
  for (std::uint32_t i = 0; i < 64; ++i) ASSERT_EQ(out[i], i * i);
}

/// What is spilled may be undefined, as long as nobody uses it.
TEST_P(Kernels, UndefinedValuesMayLieInOwnMemory) {
  std::vector<std::uint32_t> out(64);
  buffer("out", out);
  auto faultWith = [&](const char* stored) {
    std::string ir = fmt::format(R"(
define amdgpu_kernel void @spill(ptr addrspace(1) %out) #0 {{
  %place = alloca i32, addrspace(5)
  %nothing = call i32 asm "; writes nothing", "=v"()
  store volatile i32 %nothing, ptr addrspace(5) %place
  %loaded = load volatile i32, ptr addrspace(5) %place
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 {}, ptr addrspace(1) %p
  ret void
}})",
                                 stored);
    return faultOf(*makeFromIr(chip(), kDeclarations + ir), "spill", 64);
  };
  EXPECT_EQ(faultWith("%t"), "");
  EXPECT_EQ(out[63], 63U);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "what is stored is undefined", faultWith("%loaded"));
}

TEST_P(Kernels, AtomicSums) {
  std::vector<std::uint32_t> counter(2, 0), before(512, 99);
  std::vector<float> sum(1, 0.0F);
  buffer("counter", counter);
  buffer("sum", sum);
  buffer("before", before);
  runIr(R"(
define amdgpu_kernel void @count(ptr addrspace(1) %counter, ptr addrspace(1) %sum, ptr addrspace(1) %before) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %b = mul i32 %g, 256
  %i = add i32 %b, %t
  %p = getelementptr i32, ptr addrspace(1) %before, i32 %i
  %second = getelementptr i32, ptr addrspace(1) %counter, i32 1
  %old = atomicrmw umax ptr addrspace(1) %second, i32 %i syncscope("agent") monotonic
  store i32 %old, ptr addrspace(1) %p
  %unused = atomicrmw add ptr addrspace(1) %counter, i32 %t syncscope("agent") acq_rel
  %f = uitofp i32 %t to float
  %unused2 = atomicrmw fadd ptr addrspace(1) %sum, float %f syncscope("agent") monotonic, !amdgpu.no.fine.grained.memory !0, !amdgpu.ignore.denormal.mode !0
  ret void
}
!0 = !{}
)",
        "count", 2, 256);
  // Three runs added up, of two blocks.
  EXPECT_EQ(counter[0], 3U * 2 * 255 * 128);
  EXPECT_EQ(counter[1], 511U);
  EXPECT_EQ(sum[0], 3.0F * 2 * 255 * 128);
}

}  // namespace
}  // namespace fattn::test
