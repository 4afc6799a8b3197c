// SPDX-License-Identifier: Apache-2.0
// Kernels with dots.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/kernels/KernelsTest.h"

namespace fattn::examples {
namespace {

/// Row-major matrices of doubles.
struct Dense {
  std::vector<double> values;
  std::int64_t rows, columns;

  Dense(const Matrix& matrix) : values(matrix.values()), rows(matrix.rows()), columns(matrix.columns()) {}
  Dense(std::int64_t rows, std::int64_t columns) : values(static_cast<std::size_t>(rows * columns)), rows(rows), columns(columns) {}
  double& at(std::int64_t row, std::int64_t column) { return values[static_cast<std::size_t>(row * columns + column)]; }
  double at(std::int64_t row, std::int64_t column) const { return values[static_cast<std::size_t>(row * columns + column)]; }
};

Dense transposed(const Dense& x) {
  Dense y(x.columns, x.rows);
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = 0; j < x.columns; ++j) y.at(j, i) = x.at(i, j);
  return y;
}

Dense product(const Dense& a, const Dense& b) {
  Dense c(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

TEST_P(Kernels, Gemm) {
  forAll(gemm, products(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const auto [m, n, k] = size;
    Matrix a(dtype(), m, k, layout), b(dtype(), k, n, layout), bias(dtype(), 1, n), residual(dtype(), m, n, layout);
    Matrix out(dtype(), m, n, layout);
    a.fill(1), b.fill(2), bias.fill(3), residual.fill(4);
    executable.run({cdiv(m, blocks.m), cdiv(n, blocks.n), 1}, {&a, &b, &bias, &residual, &out, m, n, k});
    Dense want = product(a, b);
    for (std::int64_t row = 0; row < m; ++row)
      for (std::int64_t column = 0; column < n; ++column) {
        double x = want.at(row, column) + bias.at(0, column);
        want.at(row, column) = x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) + residual.at(row, column);
      }
    EXPECT_LE(out.relativeError(want.values), tolerance());
    EXPECT_TRUE(out.gapsUntouched());
  });
}

}  // namespace

void Kernels::checkFiveDots(const std::vector<Blocks>& sizes) {
  // Two roundings to the element type on the way, p and t, beside that of the result.
  const double bound = 3 * tolerance();
  forAll(fiveDots, sizes, [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const std::int64_t rows = size.rows, columns = size.columns, width = blocks.k;
    Matrix a(dtype(), rows, width, layout), b(dtype(), columns, width, layout), c(dtype(), rows, width, layout);
    Matrix d(dtype(), columns, width, layout), u(DType::F32, 1, rows), v(DType::F32, 1, rows);
    Matrix outA(DType::F32, rows, width, layout), outB(dtype(), columns, width, layout), outD(dtype(), columns, width, layout);
    a.fill(1, 0.3), b.fill(2, 0.3), c.fill(3), d.fill(4), u.fill(5), v.fill(6), outA.fillZero();
    executable.run({cdiv(columns, blocks.n), 1, 1}, {&a, &b, &c, &d, &u, &v, &outA, &outB, &outD, rows, columns});
    Dense p = product(a, transposed(b)), t = product(c, transposed(d));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        p.at(i, j) = std::exp2(p.at(i, j) - u.at(0, i));
        t.at(i, j) = p.at(i, j) * (t.at(i, j) - v.at(0, i));
      }
    EXPECT_LE(outD.relativeError(product(transposed(p), c).values), bound) << "p^T x c";
    EXPECT_LE(outB.relativeError(product(transposed(t), a).values), bound) << "t^T x a";
    EXPECT_LE(outA.relativeError(product(t, b).values), bound) << "t x b";
    EXPECT_TRUE(outA.gapsUntouched() && outB.gapsUntouched() && outD.gapsUntouched());
  });
}

namespace {

// Each size on its own: with a GPU's driver all of f32 took 52 s.
TEST_P(Kernels, FiveDots) { checkFiveDots({chains()[0]}); }
TEST_P(Kernels, FiveDotsOfWideBlocks) { checkFiveDots({chains()[1]}); }
TEST_P(Kernels, FiveDotsOfTallBlocks) { checkFiveDots({chains()[2]}); }

/// exp2(a x b^T) where row - band < column <= row, else 0.
Dense banded(const Matrix& a, const Matrix& b, std::int64_t band) {
  Dense p = product(a, transposed(b));
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j) p.at(i, j) = i - band < j && j <= i ? std::exp2(p.at(i, j)) : 0;
  return p;
}

/// Narrower than a block, and wider than two.
std::array<std::int64_t, 2> bandsOf(Blocks blocks) { return {5, blocks.m + 2 * blocks.n + 7}; }

TEST_P(Kernels, BandedRows) {
  forAll(bandedRows, bands(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const std::int64_t rows = 2 * size.rows, columns = size.columns, width = blocks.k;
    Matrix a(dtype(), rows, width, layout), b(dtype(), columns, width, layout), c(dtype(), columns, width, layout);
    a.fill(1, 0.3), b.fill(2), c.fill(3);
    for (std::int64_t band : bandsOf(blocks)) {
      Matrix out(DType::F32, rows, width);
      executable.run({cdiv(rows, blocks.m), 1, 1}, {&a, &b, &c, &out, rows, columns, band});
      Dense p = banded(a, b, band);
      for (std::int64_t i = 0; i < rows; ++i) {
        double total = 0;
        for (std::int64_t j = 0; j < columns; ++j) total += p.at(i, j);
        for (std::int64_t j = 0; j < columns; ++j) p.at(i, j) /= total == 0 ? 1 : total;
      }
      EXPECT_LE(out.relativeError(product(p, c).values), 2 * tolerance()) << "band " << band;
      EXPECT_TRUE(out.gapsUntouched());
    }
  });
}

TEST_P(Kernels, BandedColumns) {
  forAll(bandedColumns, bands(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const std::int64_t rows = 2 * size.rows, columns = size.columns, width = blocks.k;
    Matrix a(dtype(), rows, width, layout), b(dtype(), columns, width, layout), c(dtype(), rows, width, layout);
    a.fill(1, 0.3), b.fill(2), c.fill(3);
    for (std::int64_t band : bandsOf(blocks)) {
      Matrix out(DType::F32, columns, width);
      executable.run({cdiv(columns, blocks.n), 1, 1}, {&a, &b, &c, &out, rows, columns, band});
      EXPECT_LE(out.relativeError(product(transposed(banded(a, b, band)), c).values), 2 * tolerance()) << "band " << band;
      EXPECT_TRUE(out.gapsUntouched());
    }
  });
}

TEST_P(Kernels, SplitKeysOfFewRows) {
  const double bound = 2 * tolerance();
  std::map<std::array<std::int64_t, 4>, std::unique_ptr<Executable>> joins;
  forAll(splitKeys, fewRows(), [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const std::int64_t rows = std::min<std::int64_t>(size.rows, blocks.m), columns = 5 * size.columns, width = blocks.k;
    const std::int64_t splits = 4, part = columns / 3 + 1;  // the last split has no columns
    Matrix a(dtype(), rows, width, layout), b(dtype(), columns, width, layout), c(dtype(), columns, width, layout);
    Matrix largest(DType::F32, splits, rows), sum(DType::F32, splits, rows), partial(DType::F32, splits * rows, width);
    Matrix out(dtype(), rows, width, layout);
    a.fill(1, 0.3), b.fill(2), c.fill(3);
    executable.run({1, static_cast<std::int32_t>(splits), 1}, {&a, &b, &c, &largest, &sum, &partial, rows, columns, part});
    auto& join = joins[{blocks.m, blocks.n, blocks.k, static_cast<std::int64_t>(blocks.form)}];
    if (!join) join = compile(joinSplits, {blocks, {.stages = 2, .warps = 4}});
    join->run({cdiv(rows, blocks.m), 1, 1}, {&largest, &sum, &partial, &out, rows, splits});
    Dense p = product(a, transposed(b));
    for (std::int64_t i = 0; i < rows; ++i) {
      double total = 0;
      for (std::int64_t j = 0; j < columns; ++j) total += p.at(i, j) = std::exp2(p.at(i, j));
      for (std::int64_t j = 0; j < columns; ++j) p.at(i, j) /= total;
    }
    EXPECT_LE(out.relativeError(product(p, c).values), bound);
    for (std::int64_t i = 0; i < rows; ++i) {
      EXPECT_EQ(largest.at(splits - 1, i), -std::numeric_limits<double>::infinity());
      EXPECT_EQ(sum.at(splits - 1, i), 0);
    }
    EXPECT_TRUE(out.gapsUntouched() && partial.gapsUntouched() && largest.gapsUntouched() && sum.gapsUntouched());
  });
}

TEST_P(Kernels, TheLastOfTheProgramsThatShareABlockAddsTheirParts) {
  forAll(splitProduct, {{32, 32, 32}}, [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const std::int64_t rows = size.rows, columns = size.columns, inner = 3 * size.inner, splits = 3;
    Matrix a(dtype(), rows, inner, layout), b(dtype(), inner, columns, layout), parts(DType::F32, splits * rows, columns);
    const Extents grid = {cdiv(rows, blocks.m), cdiv(columns, blocks.n), static_cast<std::int32_t>(splits)};
    Matrix counters(DType::I32, 1, std::int64_t{grid[0]} * grid[1]), out(DType::F32, rows, columns), again(DType::F32, rows, columns);
    a.fill(1), b.fill(2), counters.fillZero();
    for (Matrix* result : {&out, &again}) {
      executable.run(grid, {&a, &b, &parts, &counters, result, rows, columns, inner});
      EXPECT_LE(result->relativeError(product(a, b).values), tolerance());
      for (const double count : counters.values()) EXPECT_EQ(count, 0);
    }
    EXPECT_EQ(out.values(), again.values()) << "the order of the sum depends on who came last";
    EXPECT_TRUE(out.gapsUntouched() && parts.gapsUntouched() && counters.gapsUntouched());
  });
}

}  // namespace
}  // namespace fattn::examples
