// SPDX-License-Identifier: Apache-2.0
// Infinities, NaN and the largest numbers: the same on every back end.
#include <cmath>
#include <limits>

#include "tests/kernels/KernelsTest.h"
#include "tools/io/Convert.h"

namespace fattn::examples {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

/// "" where `got` is f32's number for `want`, an error of `tolerance` times `size` apart.
std::string difference(double got, double want, double size, double tolerance) {
  auto rounded = static_cast<float>(want);
  bool same = std::isnan(want)      ? std::isnan(got)
              : std::isinf(rounded) ? got == static_cast<double>(rounded)
                                    : std::fabs(got - want) <= tolerance * size;
  return same ? "" : fmt::format("{} instead of {}", got, want);
}

/// a[i, 0] b[0, j] are all pairs of these numbers. Where there is a second row of b, it is 1, and a[i, 1] are the numbers backwards: so
/// each infinity meets each other one. Beyond are ordinary numbers.
TEST_P(Kernels, DotsOfSpecialNumbers) {
  // The sixth has a negative rest behind its upper 11 bits; so has 3e19, whose square is infinite.
  const std::vector<float> numbers = {kInfinity, kMax, kNaN, 0, 1, 0x1.003p0f, -1.5f, 3e19f, 1e-15f, -kMax, -0.0f, -kInfinity};
  const auto count = static_cast<std::int64_t>(numbers.size());
  // f32 products of parts may be NaN from here on (compiler/nvidia/Tf32Parts.h).
  const double largest = 0x1p135;
  forAll(matrixProduct, products(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    Matrix a(dtype(), count, size.inner, layout), b(dtype(), size.inner, count, layout), out(DType::F32, count, count, Layout::Padded);
    a.fill(1), b.fill(2);
    for (std::int64_t i = 0; i < count; ++i) {
      a.set(i, 0, numbers[static_cast<std::size_t>(i)]), b.set(0, i, numbers[static_cast<std::size_t>(i)]);
      if (size.inner > 1) a.set(i, 1, numbers[static_cast<std::size_t>(count - 1 - i)]), b.set(1, i, 1);
    }
    executable.run({cdiv(count, blocks.m), cdiv(count, blocks.n), 1}, {&a, &b, &out, count, count, size.inner});
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < count; ++j) {
        double want = 0, absolute = 0;
        for (std::int64_t k = 0; k < size.inner; ++k) want += a.at(i, k) * b.at(k, j), absolute += std::fabs(a.at(i, k) * b.at(k, j));
        if (std::isfinite(absolute) && absolute > largest) continue;
        EXPECT_EQ(difference(out.at(i, j), want, absolute, 2e-6), "") << "row " << i << " column " << j;
      }
    EXPECT_TRUE(out.gapsUntouched());
  });
}

TEST_P(Kernels, Float8BeyondItsRange) {
  std::vector<float> numbers = {kInfinity, kNaN, kMax, 0, 1e-30f};
  for (float edge : {448.0f, 464.0f, 480.0f, 57344.0f, 61440.0f, 65504.0f, 0x1p-9f, 0x1p-10f, 0x1p-16f, 0x1p-17f})  // and their neighbours
    for (float number : {edge, std::nextafter(edge, kInfinity), std::nextafter(edge, 0.0f), edge * (1 + 0x1p-7f), edge * (1 - 0x1p-7f)})
      numbers.push_back(number);
  const auto rows = static_cast<std::int64_t>(numbers.size()), columns = std::int64_t{2};  // one for each sign
  forAll(throughFloat8, rowBlocks(), [&](Executable& executable, Blocks blocks, Size, Layout layout) {
    Matrix x(dtype(), rows, columns, layout), e4m3(DType::F32, rows, columns), e5m2(DType::F32, rows, columns);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t sign : {0, 1})
        x.set(i, sign, sign == 0 ? numbers[static_cast<std::size_t>(i)] : -numbers[static_cast<std::size_t>(i)]);
    executable.run({cdiv(rows, blocks.m), cdiv(columns, blocks.n), 1}, {&x, &e4m3, &e5m2, rows, columns});
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t sign : {0, 1}) {
        const auto number = static_cast<float>(x.at(i, sign));
        const float small = io::f8e4m3ToFloat(io::floatToF8e4m3(number)), wide = io::f8e5m2ToFloat(io::floatToF8e5m2(number));
        EXPECT_EQ(difference(e4m3.at(i, sign), static_cast<double>(small), 0, 0), "") << "f8E4M3 of " << number;
        EXPECT_EQ(difference(e5m2.at(i, sign), static_cast<double>(wide), 0, 0), "") << "f8E5M2 of " << number;
      }
  });
}

}  // namespace
}  // namespace fattn::examples
