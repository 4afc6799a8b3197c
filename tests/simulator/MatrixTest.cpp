// SPDX-License-Identifier: Apache-2.0
// Products by matrix instructions, with operands loaded and results stored by the layouts that AMD documents, against plain loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "simulator/Float.h"
#include "tests/simulator/KernelFixture.h"
#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

using namespace simulator;

enum class Format : std::uint8_t { F16, BF16, FP8, BF8, I8 };

/// Numbers in a format, from their bytes.
struct Encoding {
  Format format;
  bool fnuz;
  int bytes() const { return format == Format::F16 || format == Format::BF16 ? 2 : 1; }
  std::uint32_t encode(float value) const {
    switch (format) {
      case Format::F16:
        return floatToHalf(value);
      case Format::BF16:
        return floatToBfloat(value);
      case Format::FP8:
        return encodeFloat8(value, float8(fnuz, false));
      case Format::BF8:
        return encodeFloat8(value, float8(fnuz, true));
      case Format::I8:
        return static_cast<std::uint8_t>(static_cast<std::int8_t>(value));
    }
    return 0;
  }
  double decode(std::uint32_t bits) const {
    switch (format) {
      case Format::F16:
        return static_cast<double>(halfToFloat(bits));
      case Format::BF16:
        return static_cast<double>(bfloatToFloat(bits));
      case Format::FP8:
        return static_cast<double>(decodeFloat8(bits, float8(fnuz, false)));
      case Format::BF8:
        return static_cast<double>(decodeFloat8(bits, float8(fnuz, true)));
      case Format::I8:
        return static_cast<double>(static_cast<std::int8_t>(bits));
    }
    return 0;
  }
};

/// A and B, B transposed: rows of `depth` each. C is stored row by row.
struct Problem {
  int size, depth;
  std::vector<std::byte> a, b;
  std::vector<double> valuesOfA, valuesOfB;
  std::vector<std::uint32_t> c;

  Problem(int size, int depth, Encoding first, Encoding second) : size(size), depth(depth) {
    Numbers random(17);
    int n = size * depth;
    auto fill = [&](std::vector<std::byte>& bytes, std::vector<double>& values, const Encoding& encoding) {
      for (int i = 0; i < n; ++i) {
        float value = static_cast<float>(random() % 255) - 127.0F;
        std::uint32_t bits = encoding.encode(encoding.format == Format::I8 ? value : std::ldexp(value, -6));
        for (int byte = 0; byte < encoding.bytes(); ++byte) bytes.push_back(static_cast<std::byte>(bits >> byte * 8));
        values.push_back(encoding.decode(bits));
      }
    };
    fill(a, valuesOfA, first);
    fill(b, valuesOfB, second);
    c.assign(slot(size * size), 0xffffffff);
  }
  void check(bool integer) const {
    auto n = static_cast<std::size_t>(size), k = static_cast<std::size_t>(depth);
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        double expected = 0;
        for (std::size_t i = 0; i < k; ++i) expected += valuesOfA[row * k + i] * valuesOfB[column * k + i];
        std::uint32_t bits = c[row * n + column];
        double found = integer ? static_cast<double>(static_cast<std::int32_t>(bits)) : static_cast<double>(std::bit_cast<float>(bits));
        ASSERT_NEAR(found, expected, 1e-5 * std::fabs(expected) + 1e-4) << row << ", " << column;
      }
  }
};

/// Stores register r of the results to row firstRow + rowOf(r), column %n.
std::string stores(int registers, int size, std::string_view firstRow, std::string_view type, const auto& rowOf) {
  std::string body;
  for (int r = 0; r < registers; ++r)
    body += fmt::format(R"(
  %e{0} = extractelement <{1} x {5}> %d, i32 {0}
  %row{0} = add i32 {2}, {3}
  %line{0} = mul i32 %row{0}, {4}
  %i{0} = add i32 %line{0}, %n
  %p{0} = getelementptr {5}, ptr addrspace(1) %c, i32 %i{0}
  store {5} %e{0}, ptr addrspace(1) %p{0}
)",
                        r, registers, firstRow, rowOf(r), size, type);
  return body;
}

/// An MFMA whose lanes hold 8 bytes of each operand: lane l those from k = each * (l / size) on of row (column) l % size; results in 4
/// consecutive rows.
struct Mfma {
  int size, step;
  const char* name;
  const char* type;
  Format first, second;
  const char* result = "float";
};
constexpr Mfma kMfmas[] = {
    {32, 8, "f32.32x32x8f16", "<4 x half>", Format::F16, Format::F16},
    {16, 16, "f32.16x16x16f16", "<4 x half>", Format::F16, Format::F16},
    {32, 8, "f32.32x32x8bf16.1k", "<4 x i16>", Format::BF16, Format::BF16},
    {16, 16, "f32.16x16x16bf16.1k", "<4 x i16>", Format::BF16, Format::BF16},
    {32, 16, "f32.32x32x16.fp8.fp8", "i64", Format::FP8, Format::FP8},
    {16, 32, "f32.16x16x32.bf8.fp8", "i64", Format::BF8, Format::FP8},
    {32, 16, "f32.32x32x16.fp8.bf8", "i64", Format::FP8, Format::BF8},
    {16, 32, "f32.16x16x32.bf8.bf8", "i64", Format::BF8, Format::BF8},
    {32, 16, "i32.32x32x16.i8", "i64", Format::I8, Format::I8, "i32"},
    {16, 32, "i32.16x16x32.i8", "i64", Format::I8, Format::I8, "i32"},
};

std::string mfmaKernel(const Mfma& mfma, int bytes) {
  using namespace fmt::literals;
  int registers = mfma.size * mfma.size / 64;
  return fmt::format(
      R"(
declare <{registers} x {result}> @llvm.amdgcn.mfma.{name}({type}, {type}, <{registers} x {result}>, i32, i32, i32)
define amdgpu_kernel void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {{
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %n = and i32 %t, {last}
  %h = lshr i32 %t, {bits}
  %h4 = mul i32 %h, 4
  %h8 = mul i32 %h, 8
  %start = mul i32 %n, {row}
  %first = add i32 %start, %h8
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi <{registers} x {result}> [ zeroinitializer, %0 ], [ %d, %loop ]
  %at = add i32 %first, %k
  %pa = getelementptr i8, ptr addrspace(1) %a, i32 %at
  %pb = getelementptr i8, ptr addrspace(1) %b, i32 %at
  %x = load {type}, ptr addrspace(1) %pa
  %y = load {type}, ptr addrspace(1) %pb
  %d = call <{registers} x {result}> @llvm.amdgcn.mfma.{name}({type} %x, {type} %y, <{registers} x {result}> %sum, i32 0, i32 0, i32 0)
  %next = add i32 %k, {step}
  %more = icmp ult i32 %next, {row}
  br i1 %more, label %loop, label %done
done:
{stores}
  ret void
}}
)",
      "registers"_a = registers, "result"_a = mfma.result, "name"_a = mfma.name, "type"_a = mfma.type, "last"_a = mfma.size - 1,
      "bits"_a = mfma.size == 32 ? 5 : 4, "row"_a = 64 * bytes, "step"_a = mfma.step * bytes,
      "stores"_a = stores(registers, mfma.size, "%h4", mfma.result, [&](int r) { return mfma.size == 32 ? 8 * (r / 4) + r % 4 : r; }));
}

class MatrixProducts : public KernelFixture {};
INSTANTIATE_TEST_SUITE_P(Chips, MatrixProducts, testing::Values("gfx942", "gfx950"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(MatrixProducts, ByMfmaAgreeWithLoops) {
  for (const Mfma& mfma : kMfmas) {
    SCOPED_TRACE(mfma.name);
    bool fnuz = chip() == "gfx942";
    Encoding first{mfma.first, fnuz}, second{mfma.second, fnuz};
    Problem problem(mfma.size, 64, first, second);
    forgetBuffers();
    buffer("a", problem.a, Memory::Use::ReadOnly);
    buffer("b", problem.b, Memory::Use::ReadOnly);
    buffer("c", problem.c);
    auto statistics = runIr(mfmaKernel(mfma, first.bytes()), "product", 1, 64);
    EXPECT_EQ(statistics.of(Category::Matrix), static_cast<std::uint64_t>(64 / mfma.step));
    problem.check(mfma.first == Format::I8);
  }
}

/// One wave of gfx1201: lane l has 8 consecutive k of row (column) l % 16, from 8 * (l / 16) on; register r of the result is row r + 8 * (l
/// / 16).
std::string wmma12Kernel(std::string_view name, std::string_view type, int bytes) {
  using namespace fmt::literals;
  return fmt::format(R"(
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.{name}({type}, {type}, <8 x float>)
define amdgpu_kernel void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {{
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %n = and i32 %t, 15
  %h = lshr i32 %t, 4
  %h8 = mul i32 %h, 8
  %start = mul i32 %n, {row}
  %half = mul i32 %h, {half}
  %first = add i32 %start, %half
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi <8 x float> [ zeroinitializer, %0 ], [ %d, %loop ]
  %at = add i32 %first, %k
  %pa = getelementptr i8, ptr addrspace(1) %a, i32 %at
  %pb = getelementptr i8, ptr addrspace(1) %b, i32 %at
  %x = load {type}, ptr addrspace(1) %pa, align 8
  %y = load {type}, ptr addrspace(1) %pb, align 8
  %d = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.{name}({type} %x, {type} %y, <8 x float> %sum)
  %next = add i32 %k, {step}
  %more = icmp ult i32 %next, {row}
  br i1 %more, label %loop, label %done
done:
{stores}
  ret void
}}
)",
                     "name"_a = name, "type"_a = type, "row"_a = 64 * bytes, "half"_a = 8 * bytes, "step"_a = 16 * bytes,
                     "stores"_a = stores(8, 16, "%h8", "float", [](int r) { return r; }));
}

class WmmaOfGfx12 : public KernelFixture {};
INSTANTIATE_TEST_SUITE_P(Chips, WmmaOfGfx12, testing::Values("gfx1201"), [](const auto& info) { return std::string(info.param); });

TEST_P(WmmaOfGfx12, ProductsAgreeWithLoops) {
  struct Case {
    const char *name, *type;
    Format first, second;
  };
  for (const Case& test :
       {Case{"f16.v8f32.v8f16", "<8 x half>", Format::F16, Format::F16}, Case{"bf16.v8f32.v8i16", "<8 x i16>", Format::BF16, Format::BF16},
        Case{"fp8.bf8.v8f32.v2i32", "<2 x i32>", Format::FP8, Format::BF8}}) {
    SCOPED_TRACE(test.name);
    Encoding first{test.first, false}, second{test.second, false};
    Problem problem(16, 64, first, second);
    forgetBuffers();
    buffer("a", problem.a, Memory::Use::ReadOnly);
    buffer("b", problem.b, Memory::Use::ReadOnly);
    buffer("c", problem.c);
    auto statistics = runIr(wmma12Kernel(test.name, test.type, first.bytes()), "product", 1, 32);
    EXPECT_EQ(statistics.of(Category::Matrix), 4U);
    problem.check(false);
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
                     "stores"_a = stores(8, 16, "%h", "float", [](int r) { return 2 * r; }));
}

class Wmma : public KernelFixture {};
INSTANTIATE_TEST_SUITE_P(Chips, Wmma, testing::Values("gfx1100"), [](const auto& info) { return std::string(info.param); });

TEST_P(Wmma, ProductsOf16BitsAgreeWithLoops) {
  for (bool bfloat : {false, true}) {
    SCOPED_TRACE(bfloat ? "bf16" : "f16");
    Encoding encoding{bfloat ? Format::BF16 : Format::F16, false};
    Problem problem(16, 32, encoding, encoding);
    forgetBuffers();
    buffer("a", problem.a, Memory::Use::ReadOnly);
    buffer("b", problem.b, Memory::Use::ReadOnly);
    buffer("c", problem.c);
    auto statistics = runIr(wmmaKernel(bfloat, true), "product", 1, 32);
    EXPECT_EQ(statistics.of(Category::Matrix), 2U);
    problem.check(false);
  }
}

TEST_P(Wmma, OperandsHaveToBeCopied) {
  Problem problem(32, 32, {Format::F16, false}, {Format::F16, false});
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
