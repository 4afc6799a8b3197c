// SPDX-License-Identifier: Apache-2.0
// The example kernels against float64: every element type, sizes that are no multiple of a block, every layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "tests/kernels/Kernels.h"
#include "tests/kernels/Launch.h"
#include "tests/kernels/Matrix.h"

namespace fattn::examples {
namespace {

/// Half an ulp of the result's type relative to the result, with room for f32's own sums.
double tolerance(DType dtype) { return dtype == DType::F32 ? 2e-6 : dtype == DType::F16 ? 5e-4 : 4e-3; }

std::string_view name(Layout layout) {
  static constexpr std::array<std::string_view, 4> names = {"dense", "padded", "transposed", "spread"};
  return names[static_cast<std::size_t>(layout)];
}

std::int32_t blocksFor(std::int64_t extent, std::int64_t block) { return static_cast<std::int32_t>((extent + block - 1) / block); }

struct Case {
  std::int64_t rows, columns, inner;
  Blocks blocks;
};

class Kernels : public testing::TestWithParam<std::tuple<Backend, DType, Layout>> {
 protected:
  Backend backend() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  Layout layout() const { return std::get<2>(GetParam()); }
  std::vector<Case> cases() const {
    std::vector<Case> list = {{1, 1, 1, {8, 16, 8}}, {16, 16, 16, {16, 16, 16}}, {19, 37, 23, {8, 16, 16}}};
    return list;
  }
};

TEST_P(Kernels, Gemm) {
  for (const auto& [m, n, k, blocks] : cases()) {
    SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
    Matrix a(dtype(), m, k, layout()), b(dtype(), k, n, layout()), bias(dtype(), 1, n), residual(dtype(), m, n, layout());
    Matrix out(dtype(), m, n, layout());
    a.fill(1), b.fill(2), bias.fill(3), residual.fill(4);
    const dsl::Program program = dsl::trace("gemm", [&](dsl::Params& args) { gemm(args, dtype(), blocks); });
    launch(program, backend(), {blocksFor(m, blocks.m), blocksFor(n, blocks.n), 1},
           {&a, &b, &bias, &residual, &out, m, n, k, a.rowStride(), a.columnStride(), b.rowStride(), b.columnStride(), residual.rowStride(),
            residual.columnStride(), out.rowStride(), out.columnStride()});
    const auto want = [&](std::int64_t row, std::int64_t column) {
      double x = bias.at(0, column);
      for (std::int64_t i = 0; i < a.columns(); ++i) x += a.at(row, i) * b.at(i, column);
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) + residual.at(row, column);
    };
    EXPECT_LE(out.relativeError(want), tolerance(dtype()));
    EXPECT_TRUE(out.gapsUntouched());
  }
}

TEST_P(Kernels, RowSoftmax) {
  for (const auto& [rows, columns, unused, blocks] : cases()) {
    SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns));
    Matrix x(dtype(), rows, columns, layout()), out(dtype(), rows, columns, layout());
    x.fill(5);
    const dsl::Program program = dsl::trace("row_softmax", [&](dsl::Params& args) { rowSoftmax(args, dtype(), blocks); });
    launch(program, backend(), {blocksFor(rows, blocks.m), 1, 1},
           {&x, &out, rows, columns, x.rowStride(), x.columnStride(), out.rowStride(), out.columnStride()});
    std::vector<double> sums(static_cast<std::size_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) sums[static_cast<std::size_t>(row)] += std::exp(x.at(row, column));
    const auto want = [&](std::int64_t row, std::int64_t column) {
      return std::exp(x.at(row, column)) / sums[static_cast<std::size_t>(row)];
    };
    EXPECT_LE(out.relativeError(want), tolerance(dtype()));
    EXPECT_TRUE(out.gapsUntouched());
  }
}

TEST_P(Kernels, LayerNorm) {
  constexpr double kEps = 1e-5;
  for (const auto& [rows, columns, unused, blocks] : cases()) {
    SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns));
    Matrix x(dtype(), rows, columns, layout()), out(dtype(), rows, columns, layout());
    Matrix gamma(dtype(), 1, columns), beta(dtype(), 1, columns), mean(DType::F32, rows, 1), rstd(DType::F32, rows, 1);
    x.fill(6), gamma.fill(7), beta.fill(8);
    const dsl::Program program = dsl::trace("layer_norm", [&](dsl::Params& args) { layerNorm(args, dtype(), blocks); });
    launch(
        program, backend(), {blocksFor(rows, blocks.m), 1, 1},
        {&x, &gamma, &beta, &out, &mean, &rstd, rows, columns, x.rowStride(), x.columnStride(), out.rowStride(), out.columnStride(), kEps});
    const auto meanOf = [&](std::int64_t row) {
      double sum = 0;
      for (std::int64_t column = 0; column < x.columns(); ++column) sum += x.at(row, column);
      return sum / static_cast<double>(x.columns());
    };
    const auto rstdOf = [&](std::int64_t row) {
      const double center = meanOf(row);
      double sum = 0;
      for (std::int64_t column = 0; column < x.columns(); ++column) sum += (x.at(row, column) - center) * (x.at(row, column) - center);
      return 1 / std::sqrt(sum / static_cast<double>(x.columns()) + kEps);
    };
    std::vector<double> means, rstds;
    for (std::int64_t row = 0; row < rows; ++row) means.push_back(meanOf(row)), rstds.push_back(rstdOf(row));
    const auto want = [&](std::int64_t row, std::int64_t column) {
      const auto r = static_cast<std::size_t>(row);
      return (x.at(row, column) - means[r]) * rstds[r] * gamma.at(0, column) + beta.at(0, column);
    };
    EXPECT_LE(out.relativeError(want), tolerance(dtype()));
    EXPECT_TRUE(out.gapsUntouched());
    EXPECT_LE(mean.relativeError([&](std::int64_t row, std::int64_t) { return means[static_cast<std::size_t>(row)]; }), 2e-6);
    EXPECT_LE(rstd.relativeError([&](std::int64_t row, std::int64_t) { return rstds[static_cast<std::size_t>(row)]; }), 2e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::Values(Backend::Interpreter), testing::Values(DType::F32, DType::F16, DType::BF16),
                                          testing::Values(Layout::Dense, Layout::Padded, Layout::Transposed, Layout::Spread)),
                         [](const auto& info) {
                           return std::string("interpreter_") + std::string(fattn::name(std::get<1>(info.param))) + "_" +
                                  std::string(name(std::get<2>(info.param)));
                         });

}  // namespace
}  // namespace fattn::examples
