// SPDX-License-Identifier: Apache-2.0
// Products by matrix instructions, with operands loaded and results stored by the layouts that AMD documents, against plain loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/Float.h"
#include "tests/simulator/KernelFixture.h"
#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

using namespace simulator;

/// A and B as numbers of 16 bits, B transposed: rows of `depth` each. C is stored row by row.
struct Problem {
  int size, depth;
  bool bfloat;
  std::vector<std::uint16_t> a, b;
  std::vector<float> c;

  Problem(int size, int depth, bool bfloat) : size(size), depth(depth), bfloat(bfloat) {
    Numbers random(17);
    int n = size * depth;
    for (auto* operand : {&a, &b})
      for (int i = 0; i < n; ++i) {
        float value = std::ldexp(static_cast<float>(random() % 511) - 255.0F, -7);
        operand->push_back(static_cast<std::uint16_t>(bfloat ? floatToBfloat(value) : floatToHalf(value)));
      }
    c.assign(slot(size * size), -1.0F);
  }
  double value(std::uint16_t bits) const { return static_cast<double>(bfloat ? bfloatToFloat(bits) : halfToFloat(bits)); }
  void check() const {
    auto n = static_cast<std::size_t>(size), k = static_cast<std::size_t>(depth);
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        double expected = 0;
        for (std::size_t i = 0; i < k; ++i) expected += value(a[row * k + i]) * value(b[column * k + i]);
        ASSERT_NEAR(static_cast<double>(c[row * n + column]), expected, 1e-4) << row << ", " << column;
      }
  }
};

/// Stores register r of the results to row firstRow + rowOf(r), column %n.
std::string stores(int registers, int size, std::string_view firstRow, const auto& rowOf) {
  std::string body;
  for (int r = 0; r < registers; ++r)
    body += fmt::format(R"(
  %e{0} = extractelement <{1} x float> %d, i32 {0}
  %row{0} = add i32 {2}, {3}
  %line{0} = mul i32 %row{0}, {4}
  %i{0} = add i32 %line{0}, %n
  %p{0} = getelementptr float, ptr addrspace(1) %c, i32 %i{0}
  store float %e{0}, ptr addrspace(1) %p{0}
)",
                        r, registers, firstRow, rowOf(r), size);
  return body;
}

/// One wave of gfx942: lane l has 4 consecutive k of row (column) l % size, from 4 * (l / size) on; results in 4 consecutive rows.
std::string mfmaKernel(int size, bool bfloat) {
  using namespace fmt::literals;
  int registers = size * size / 64;
  std::string_view shape = size == 32 ? "32x32x8" : "16x16x16";
  return fmt::format(R"(
declare <{registers} x float> {name}({type}, {type}, <{registers} x float>, i32, i32, i32)
define amdgpu_kernel void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {{
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %n = and i32 %t, {last}
  %h = lshr i32 %t, {bits}
  %h4 = mul i32 %h, 4
  %start = mul i32 %n, 64
  %first = add i32 %start, %h4
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi <{registers} x float> [ zeroinitializer, %0 ], [ %d, %loop ]
  %at = add i32 %first, %k
  %pa = getelementptr i16, ptr addrspace(1) %a, i32 %at
  %pb = getelementptr i16, ptr addrspace(1) %b, i32 %at
  %x = load {type}, ptr addrspace(1) %pa
  %y = load {type}, ptr addrspace(1) %pb
  %d = call <{registers} x float> {name}({type} %x, {type} %y, <{registers} x float> %sum, i32 0, i32 0, i32 0)
  %next = add i32 %k, {step}
  %more = icmp ult i32 %next, 64
  br i1 %more, label %loop, label %done
done:
{stores}
  ret void
}}
)",
                     "registers"_a = registers, "name"_a = fmt::format("@llvm.amdgcn.mfma.f32.{}{}", shape, bfloat ? "bf16.1k" : "f16"),
                     "type"_a = bfloat ? "<4 x i16>" : "<4 x half>", "last"_a = size - 1, "bits"_a = size == 32 ? 5 : 4,
                     "step"_a = size == 32 ? 8 : 16,
                     "stores"_a = stores(registers, size, "%h4", [&](int r) { return size == 32 ? 8 * (r / 4) + r % 4 : r; }));
}

class Mfma : public KernelFixture {};
INSTANTIATE_TEST_SUITE_P(Chips, Mfma, testing::Values("gfx942", "gfx950"), [](const auto& info) { return std::string(info.param); });

TEST_P(Mfma, ProductsOf16BitsAgreeWithLoops) {
  for (int size : {32, 16})
    for (bool bfloat : {false, true}) {
      SCOPED_TRACE(testing::Message() << size << (bfloat ? " bf16" : " f16"));
      Problem problem(size, 64, bfloat);
      forgetBuffers();
      buffer("a", problem.a, Memory::Use::ReadOnly);
      buffer("b", problem.b, Memory::Use::ReadOnly);
      buffer("c", problem.c);
      auto statistics = runIr(mfmaKernel(size, bfloat), "product", 1, 64);
      EXPECT_EQ(statistics.of(Category::Matrix), size == 32 ? 8U : 4U);
      problem.check();
    }
}

/// One wave of gfx1100: lanes l and l + 16 both have all 16 k of row (column) l; register r of the result is row 2 r + l / 16.
std::string wmmaKernel(bool bfloat, bool copies) {
  using namespace fmt::literals;
  return fmt::format(R"(
declare <8 x float> {name}({type}, {type}, <8 x float>)
define amdgpu_kernel void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {{
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %n = and i32 %t, 15
  %h = lshr i32 %t, 4
  %which = and i32 %t, {last}
  %first = mul i32 %which, 32
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi <8 x float> [ zeroinitializer, %0 ], [ %d, %loop ]
  %at = add i32 %first, %k
  %pa = getelementptr i16, ptr addrspace(1) %a, i32 %at
  %pb = getelementptr i16, ptr addrspace(1) %b, i32 %at
  %x = load {type}, ptr addrspace(1) %pa, align 16
  %y = load {type}, ptr addrspace(1) %pb, align 16
  %d = call <8 x float> {name}({type} %x, {type} %y, <8 x float> %sum)
  %next = add i32 %k, 16
  %more = icmp ult i32 %next, 32
  br i1 %more, label %loop, label %done
done:
{stores}
  ret void
}}
)",
                     "name"_a = fmt::format("@llvm.amdgcn.wmma.f32.16x16x16.{}", bfloat ? "bf16.v8f32.v16i16" : "f16.v8f32.v16f16"),
                     "type"_a = bfloat ? "<16 x i16>" : "<16 x half>", "last"_a = copies ? 15 : 31,
                     "stores"_a = stores(8, 16, "%h", [](int r) { return 2 * r; }));
}

class Wmma : public KernelFixture {};
INSTANTIATE_TEST_SUITE_P(Chips, Wmma, testing::Values("gfx1100"), [](const auto& info) { return std::string(info.param); });

TEST_P(Wmma, ProductsOf16BitsAgreeWithLoops) {
  for (bool bfloat : {false, true}) {
    SCOPED_TRACE(bfloat ? "bf16" : "f16");
    Problem problem(16, 32, bfloat);
    forgetBuffers();
    buffer("a", problem.a, Memory::Use::ReadOnly);
    buffer("b", problem.b, Memory::Use::ReadOnly);
    buffer("c", problem.c);
    auto statistics = runIr(wmmaKernel(bfloat, true), "product", 1, 32);
    EXPECT_EQ(statistics.of(Category::Matrix), 2U);
    problem.check();
  }
}

TEST_P(Wmma, OperandsHaveToBeCopied) {
  Problem problem(32, 32, false);
  buffer("a", problem.a, Memory::Use::ReadOnly);
  buffer("b", problem.b, Memory::Use::ReadOnly);
  buffer("c", problem.c);
  std::string text = faultOf(*makeFromIr(chip(), kDeclarations + wmmaKernel(false, false)), "product", 32);
  EXPECT_NE(text.find("the first operand of the product differs between the lanes 0 to 15 and 16 to 31, which have to hold copies"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace fattn::test
