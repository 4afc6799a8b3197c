// SPDX-License-Identifier: Apache-2.0
// Kernels that work on rows or columns: normalizations, sums, copies.
#include <algorithm>
#include <cmath>

#include "tests/kernels/KernelsTest.h"

namespace fattn::examples {
namespace {

constexpr double kEps = 1e-5, kSumTolerance = 2e-6;

/// A few normal numbers add up to something near zero now and then: the error of sums is compared with what was added.
double sizeOf(const std::vector<double>& values) {
  double squares = 0;
  for (double value : values) squares += value * value;
  return std::sqrt(squares);
}

TEST_P(Kernels, RowSoftmax) {
  forAll(rowSoftmax, rowBlocks(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    Matrix x(dtype(), size.rows, size.columns, layout), out(dtype(), size.rows, size.columns, layout);
    x.fill(5);
    executable.run({cdiv(size.rows, blocks.m), 1, 1}, {&x, &out, size.rows, size.columns});
    std::vector<double> want = x.values();
    for (std::int64_t row = 0; row < size.rows; ++row) {
      std::span<double> line(want.data() + row * size.columns, static_cast<std::size_t>(size.columns));
      double sum = 0;
      for (double& value : line) sum += value = std::exp(value);
      for (double& value : line) value /= sum;
    }
    EXPECT_LE(out.relativeError(want), tolerance());
    EXPECT_TRUE(out.gapsUntouched());
  });
}

TEST_P(Kernels, LayerNorm) {
  forAll(layerNorm, rowBlocks(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const auto [rows, columns, unused] = size;
    Matrix x(dtype(), rows, columns, layout), out(dtype(), rows, columns, layout);
    Matrix gamma(dtype(), 1, columns), beta(dtype(), 1, columns), mean(DType::F32, rows, 1), rstd(DType::F32, rows, 1);
    x.fill(6), gamma.fill(7), beta.fill(8);
    executable.run({cdiv(rows, blocks.m), 1, 1}, {&x, &gamma, &beta, &out, &mean, &rstd, rows, columns, kEps});
    std::vector<double> want = x.values(), scale = gamma.values(), shift = beta.values(), means, rstds;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::span<double> line(want.data() + row * columns, static_cast<std::size_t>(columns));
      double sum = 0, squares = 0;
      for (double value : line) sum += value;
      means.push_back(sum / static_cast<double>(columns));
      for (double value : line) squares += (value - means.back()) * (value - means.back());
      rstds.push_back(1 / std::sqrt(squares / static_cast<double>(columns) + kEps));
      for (std::size_t i = 0; i < line.size(); ++i) line[i] = (line[i] - means.back()) * rstds.back() * scale[i] + shift[i];
    }
    EXPECT_LE(out.relativeError(want), tolerance());
    EXPECT_TRUE(out.gapsUntouched());
    EXPECT_LE(mean.relativeError(means), kSumTolerance);
    EXPECT_LE(rstd.relativeError(rstds), kSumTolerance);
  });
}

TEST_P(Kernels, ScaleRowsInPlace) {
  forAll(scaleRows, rowBlocks(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    Matrix x(dtype(), size.rows, size.columns, layout);
    x.fill(9);
    std::vector<double> want = x.values();
    executable.run({cdiv(size.rows, blocks.m), 1, 1}, {&x, size.rows, size.columns, kEps});
    for (std::int64_t row = 0; row < size.rows; ++row) {
      std::span<double> line(want.data() + row * size.columns, static_cast<std::size_t>(size.columns));
      double squares = 0;
      for (double value : line) squares += value * value;
      for (double& value : line) value /= std::sqrt(squares / static_cast<double>(size.columns) + kEps);
    }
    EXPECT_LE(x.relativeError(want), tolerance());
    EXPECT_TRUE(x.gapsUntouched());
  });
}

TEST_P(Kernels, Copy) {
  forAll(copy, rowBlocks(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    Matrix x(dtype(), size.rows, size.columns, layout), out(dtype(), size.rows, size.columns, layout);
    x.fill(10);
    executable.run({cdiv(size.rows, blocks.m), cdiv(size.columns, blocks.n), 1}, {&x, &out, size.rows, size.columns});
    EXPECT_EQ(out.values(), x.values());
    EXPECT_TRUE(out.gapsUntouched());
  });
}

TEST_P(Kernels, RowSums) {
  forAll(rowSums, rowBlocks(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    Matrix x(dtype(), size.rows, size.columns, layout), out(DType::F32, size.rows, 1);
    x.fill(11);
    executable.run({cdiv(size.rows, blocks.m), 1, 1}, {&x, &out, size.rows, size.columns});
    std::vector<double> values = x.values(), want(static_cast<std::size_t>(size.rows));
    for (std::size_t i = 0; i < values.size(); ++i) want[i / static_cast<std::size_t>(size.columns)] += values[i];
    EXPECT_LE(out.relativeError(want) * sizeOf(want), kSumTolerance * sizeOf(values));
    EXPECT_TRUE(out.gapsUntouched());
  });
}

TEST_P(Kernels, ColumnSums) {
  forAll(columnSums, rowBlocks(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    Matrix x(dtype(), size.rows, size.columns, layout), out(DType::F32, 1, size.columns);
    x.fill(12);
    executable.run({cdiv(size.columns, blocks.n), 1, 1}, {&x, &out, size.rows, size.columns});
    std::vector<double> values = x.values(), want(static_cast<std::size_t>(size.columns));
    for (std::size_t i = 0; i < values.size(); ++i) want[i % static_cast<std::size_t>(size.columns)] += values[i];
    EXPECT_LE(out.relativeError(want) * sizeOf(want), kSumTolerance * sizeOf(values));
    EXPECT_TRUE(out.gapsUntouched());
  });
}

}  // namespace
}  // namespace fattn::examples
