// SPDX-License-Identifier: Apache-2.0
// The example kernels against float64: every element type, sizes that are no multiple of a block, every layout.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "tests/kernels/Executable.h"
#include "tests/kernels/Kernels.h"
#include "tests/kernels/Matrix.h"

namespace fattn::examples {
namespace {

/// Half an ulp of the result's type relative to the result, or what f32's own sums cost.
double tolerance(DType dtype) { return dtype == DType::F32 ? 2e-6 : dtype == DType::F16 ? 5e-4 : 4e-3; }

std::int32_t cdiv(std::int64_t extent, std::int64_t block) { return static_cast<std::int32_t>((extent + block - 1) / block); }

constexpr std::array kLayouts = {Layout::Dense, Layout::Padded, Layout::Transposed, Layout::Spread};

struct Size {
  std::int64_t rows, columns, inner;
};

class Kernels : public testing::TestWithParam<std::tuple<Backend, DType>> {
 protected:
  Backend backend() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }

  /// Calls run(executable, blocks, size, layout) for all combinations; each kernel is compiled once for its block sizes.
  template <class Kernel, class Run>
  void forAll(Kernel kernel, Run run) {
    std::vector<Blocks> blockings = {{16, 16, 16}, {8, 32, 24}};
    std::vector<Size> sizes = {{1, 1, 1}, {16, 16, 16}, {19, 37, 23}};
    if (backend() == Backend::Host) {
      blockings.push_back({24, 80, 48});
      sizes.push_back({129, 200, 100});
    }
    for (const Blocks& blocks : blockings) {
      const auto executable = load(dsl::trace("kernel", [&](dsl::Params& args) { kernel(args, dtype(), blocks); }), backend());
      for (const Size& size : sizes)
        for (Layout layout : kLayouts) {
          SCOPED_TRACE("blocks " + std::to_string(blocks.m) + "," + std::to_string(blocks.n) + "," + std::to_string(blocks.k) + " size " +
                       std::to_string(size.rows) + "," + std::to_string(size.columns) + "," + std::to_string(size.inner) + " layout " +
                       std::to_string(static_cast<int>(layout)));
          run(*executable, blocks, size, layout);
        }
    }
  }
};

TEST_P(Kernels, Gemm) {
  forAll(gemm, [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const auto [m, n, k] = size;
    Matrix a(dtype(), m, k, layout), b(dtype(), k, n, layout), bias(dtype(), 1, n), residual(dtype(), m, n, layout);
    Matrix out(dtype(), m, n, layout);
    a.fill(1), b.fill(2), bias.fill(3), residual.fill(4);
    executable.run({cdiv(m, blocks.m), cdiv(n, blocks.n), 1},
                   {&a, &b, &bias, &residual, &out, m, n, k, a.rowStride(), a.columnStride(), b.rowStride(), b.columnStride(),
                    residual.rowStride(), residual.columnStride(), out.rowStride(), out.columnStride()});
    const auto want = [&](std::int64_t row, std::int64_t column) {
      double x = bias.at(0, column);
      for (std::int64_t i = 0; i < a.columns(); ++i) x += a.at(row, i) * b.at(i, column);
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) + residual.at(row, column);
    };
    EXPECT_LE(out.relativeError(want), tolerance(dtype()));
    EXPECT_TRUE(out.gapsUntouched());
  });
}

TEST_P(Kernels, RowSoftmax) {
  forAll(rowSoftmax, [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    Matrix x(dtype(), size.rows, size.columns, layout), out(dtype(), size.rows, size.columns, layout);
    x.fill(5);
    executable.run({cdiv(size.rows, blocks.m), 1, 1},
                   {&x, &out, size.rows, size.columns, x.rowStride(), x.columnStride(), out.rowStride(), out.columnStride()});
    std::vector<double> sums(static_cast<std::size_t>(size.rows));
    for (std::int64_t row = 0; row < x.rows(); ++row)
      for (std::int64_t column = 0; column < x.columns(); ++column) sums[static_cast<std::size_t>(row)] += std::exp(x.at(row, column));
    const auto want = [&](std::int64_t row, std::int64_t column) {
      return std::exp(x.at(row, column)) / sums[static_cast<std::size_t>(row)];
    };
    EXPECT_LE(out.relativeError(want), tolerance(dtype()));
    EXPECT_TRUE(out.gapsUntouched());
  });
}

TEST_P(Kernels, LayerNorm) {
  constexpr double kEps = 1e-5;
  forAll(layerNorm, [&](Executable& executable, Blocks blocks, Size size, Layout layout) {
    const auto [rows, columns, unused] = size;
    Matrix x(dtype(), rows, columns, layout), out(dtype(), rows, columns, layout);
    Matrix gamma(dtype(), 1, columns), beta(dtype(), 1, columns), mean(DType::F32, rows, 1), rstd(DType::F32, rows, 1);
    x.fill(6), gamma.fill(7), beta.fill(8);
    executable.run({cdiv(rows, blocks.m), 1, 1}, {&x, &gamma, &beta, &out, &mean, &rstd, rows, columns, x.rowStride(), x.columnStride(),
                                                  out.rowStride(), out.columnStride(), kEps});
    std::vector<double> means, rstds;
    for (std::int64_t row = 0; row < x.rows(); ++row) {
      double sum = 0, squares = 0;
      for (std::int64_t column = 0; column < x.columns(); ++column) sum += x.at(row, column);
      const double center = sum / static_cast<double>(x.columns());
      for (std::int64_t column = 0; column < x.columns(); ++column) squares += (x.at(row, column) - center) * (x.at(row, column) - center);
      means.push_back(center);
      rstds.push_back(1 / std::sqrt(squares / static_cast<double>(x.columns()) + kEps));
    }
    const auto meanAt = [&](std::int64_t row, std::int64_t) { return means[static_cast<std::size_t>(row)]; };
    const auto rstdAt = [&](std::int64_t row, std::int64_t) { return rstds[static_cast<std::size_t>(row)]; };
    const auto want = [&](std::int64_t row, std::int64_t column) {
      return (x.at(row, column) - meanAt(row, 0)) * rstdAt(row, 0) * gamma.at(0, column) + beta.at(0, column);
    };
    EXPECT_LE(out.relativeError(want), tolerance(dtype()));
    EXPECT_TRUE(out.gapsUntouched());
    EXPECT_LE(mean.relativeError(meanAt), 2e-6);
    EXPECT_LE(rstd.relativeError(rstdAt), 2e-6);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::Values(Backend::Interpreter, Backend::Host),
                                          testing::Values(DType::F32, DType::F16, DType::BF16)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) == Backend::Host ? "host_" : "interpreter_") +
                                  std::string(name(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace fattn::examples
