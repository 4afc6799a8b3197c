// SPDX-License-Identifier: Apache-2.0
#include "tests/library/LibraryTest.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace fattn {

using examples::Layout;
using examples::Matrix;

void LibraryTest::SetUp() {
  try {
    device_ = &openDevice(target());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NoDevice) throw;
    GTEST_SKIP() << error.what();
  }
}

TensorView LibraryTest::view(Matrix& matrix, DType dtype) {
  void* data = matrix.data();
  if (device_->kind() != DeviceKind::Host) {
    const auto before = static_cast<std::size_t>(matrix.misalignment()), bytes = static_cast<std::size_t>(matrix.sizeWithGuard());
    OnDevice& there = there_.emplace_back();
    there.matrix = &matrix;
    there.memory = {device_->allocate(before + bytes), [device = device_](void* memory) { device->free(memory); }};
    there.first = static_cast<std::byte*>(there.memory.get()) + before;
    device_->copy(there.first, matrix.data(), bytes);
    device_->synchronize();
    data = there.first;
  }
  return {data, dtype, {matrix.rows(), matrix.columns()}, {matrix.rowStride(), matrix.columnStride()}};
}

void LibraryTest::fetch() {
  device_->synchronize();
  for (OnDevice& there : there_) device_->copy(there.matrix->data(), there.first, static_cast<std::size_t>(there.matrix->sizeWithGuard()));
  device_->synchronize();
  there_.clear();
}

std::string libraryCaseName(const testing::TestParamInfo<LibraryCase>& info) {
  std::string text = std::get<0>(info.param) + "_" + std::string(name(std::get<1>(info.param)));
  std::ranges::replace(text, ':', '_');
  return text;
}

namespace {

TensorView vectorOf(const TensorView& row) { return {row.data, row.dtype, {row.shape[1]}, {row.strides[1]}}; }

struct GemmCase {
  std::int64_t m, n, k;
  Layout a, b, out;
  bool bias, residual;
  Activation activation;
};

double activated(Activation activation, double x) {
  if (activation == Activation::Gelu) return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return activation == Activation::Silu ? x / (1 + std::exp(-x)) : x;
}

std::vector<double> gemmReference(const GemmCase& c, const Matrix& a, const Matrix& b, const Matrix& bias, const Matrix& residual) {
  std::vector<double> want;
  for (std::int64_t i = 0; i < c.m; ++i)
    for (std::int64_t j = 0; j < c.n; ++j) {
      double sum = c.bias ? bias.at(0, j) : 0;
      for (std::int64_t p = 0; p < c.k; ++p) sum += a.at(i, p) * b.at(p, j);
      want.push_back(activated(c.activation, sum) + (c.residual ? residual.at(i, j) : 0));
    }
  return want;
}

TEST_P(LibraryTest, GemmAgreesWithFloat64) {
  const GemmCase cases[] = {
      {64, 64, 64, Layout::Aligned, Layout::Aligned, Layout::Aligned, false, false, Activation::None},
      {1, 1, 1, Layout::Dense, Layout::Dense, Layout::Dense, false, false, Activation::None},
      {130, 70, 33, Layout::Dense, Layout::Dense, Layout::Dense, true, false, Activation::Gelu},
      {77, 131, 200, Layout::Padded, Layout::Transposed, Layout::Padded, false, true, Activation::Silu},
      {33, 257, 65, Layout::Transposed, Layout::Shifted, Layout::Dense, true, true, Activation::None},
      {5, 300, 129, Layout::Transposed, Layout::Transposed, Layout::Shifted, true, true, Activation::Gelu},
      {40, 50, 0, Layout::Dense, Layout::Dense, Layout::Dense, true, false, Activation::None},
  };
  for (const GemmCase& c : cases) {
    Matrix a(dtype(), c.m, c.k, c.a), b(dtype(), c.k, c.n, c.b), out(dtype(), c.m, c.n, c.out), bias(dtype(), 1, c.n),
        residual(dtype(), c.m, c.n, Layout::Padded);
    a.fill(1), b.fill(2), bias.fill(3), residual.fill(4), out.fillZero();
    GemmArgs args{.a = view(a), .b = view(b), .out = view(out), .activation = c.activation};
    if (c.bias) args.bias = vectorOf(view(bias));
    if (c.residual) args.residual = view(residual);
    gemm({}, args, target());
    fetch();
    EXPECT_LT(out.relativeError(gemmReference(c, a, b, bias, residual)), tolerance()) << c.m << " x " << c.n << " x " << c.k;
    EXPECT_TRUE(out.gapsUntouched());
  }
}

TEST_P(LibraryTest, GemmAddsToItsOwnResult) {
  Matrix a(dtype(), 50, 40), b(dtype(), 40, 60), out(dtype(), 50, 60);
  a.fill(1), b.fill(2), out.fill(3);
  const GemmCase c{50, 60, 40, {}, {}, {}, false, true, Activation::None};
  const std::vector<double> want = gemmReference(c, a, b, out, out);
  const TensorView result = view(out);
  gemm({}, {.a = view(a), .b = view(b), .out = result, .residual = result}, target());
  fetch();
  EXPECT_LT(out.relativeError(want), tolerance());
}

using RowFunction = std::function<std::vector<double>(const std::vector<double>& row)>;

std::vector<double> byRows(const Matrix& x, const RowFunction& function) {
  std::vector<double> want;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    std::vector<double> row;
    for (std::int64_t j = 0; j < x.columns(); ++j) row.push_back(x.at(i, j));
    const std::vector<double> result = function(row);
    want.insert(want.end(), result.begin(), result.end());
  }
  return want;
}

std::vector<double> softmaxOf(const std::vector<double>& row) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double x : row) top = std::max(top, x);
  for (const double x : row) sum += std::exp(x - top);
  std::vector<double> result;
  for (const double x : row) result.push_back(std::exp(x - top) / sum);
  return result;
}

struct RowCase {
  std::int64_t rows, columns;
  Layout x, out;
};
constexpr RowCase kRowCases[] = {{1, 1, Layout::Dense, Layout::Dense},       {7, 1024, Layout::Aligned, Layout::Aligned},
                                 {33, 1000, Layout::Padded, Layout::Dense},  {5, 4099, Layout::Shifted, Layout::Padded},
                                 {130, 17, Layout::Dense, Layout::Shifted},  {3, 12345, Layout::Aligned, Layout::Dense},
                                 {2, 20001, Layout::Padded, Layout::Aligned}};

TEST_P(LibraryTest, SoftmaxAgreesWithFloat64) {
  for (const RowCase& c : kRowCases) {
    Matrix x(dtype(), c.rows, c.columns, c.x), out(dtype(), c.rows, c.columns, c.out);
    x.fill(1, 4), out.fillZero();
    softmax({}, view(x), view(out), target());
    fetch();
    EXPECT_LT(out.relativeError(byRows(x, softmaxOf)), tolerance()) << c.rows << " x " << c.columns;
    EXPECT_TRUE(out.gapsUntouched());
  }
}

TEST_P(LibraryTest, SoftmaxInPlaceOfMaskedRows) {
  Matrix x(dtype(), 20, 3000, Layout::Padded);
  x.fill(1, 4);
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < 3000; ++j)
      if (j < 100 * i || j == 2999) x.set(i, j, -std::numeric_limits<float>::infinity());
  const std::vector<double> want = byRows(x, softmaxOf);
  const TensorView memory = view(x);
  softmax({}, memory, memory, target());
  fetch();
  EXPECT_LT(x.relativeError(want), tolerance());
  EXPECT_TRUE(x.gapsUntouched());
}

std::vector<double> normalized(const std::vector<double>& row, bool centered, double eps) {
  double mean = 0, squares = 0;
  for (const double x : row) mean += centered ? x / static_cast<double>(row.size()) : 0;
  for (const double x : row) squares += (x - mean) * (x - mean) / static_cast<double>(row.size());
  std::vector<double> result;
  for (const double x : row) result.push_back((x - mean) / std::sqrt(squares + eps));
  return result;
}

TEST_P(LibraryTest, NormsAgreeWithFloat64) {
  for (const bool layer : {true, false})
    for (const RowCase& c : kRowCases) {
      if (layer && c.columns == 1) continue;  // x - mean is 0 there, and relative errors say nothing
      Matrix x(dtype(), c.rows, c.columns, c.x), out(dtype(), c.rows, c.columns, c.out), weight(dtype(), 1, c.columns),
          bias(dtype(), 1, c.columns);
      x.fill(1, 3), weight.fill(2), bias.fill(3), out.fillZero();
      NormArgs args{.x = view(x), .out = view(out), .eps = 1e-3f};
      const bool hasWeight = c.rows != 7, hasBias = layer && c.rows != 5;
      if (hasWeight) args.weight = vectorOf(view(weight));
      if (hasBias) args.bias = vectorOf(view(bias));
      layer ? layer_norm({}, args, target()) : rms_norm({}, args, target());
      fetch();
      std::vector<double> want = byRows(x, [&](const std::vector<double>& row) { return normalized(row, layer, 1e-3); });
      for (std::size_t i = 0; i < want.size(); ++i) {
        const auto column = static_cast<std::int64_t>(i) % c.columns;
        want[i] = want[i] * (hasWeight ? weight.at(0, column) : 1) + (hasBias ? bias.at(0, column) : 0);
      }
      EXPECT_LT(out.relativeError(want), tolerance()) << (layer ? "layer " : "rms ") << c.rows << " x " << c.columns;
      EXPECT_TRUE(out.gapsUntouched());
    }
}

}  // namespace
}  // namespace fattn
