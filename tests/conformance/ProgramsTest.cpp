// SPDX-License-Identifier: Apache-2.0
// Programs of the tile language against plain loops: masks, strides, sums, products, atomic additions.
#include "tests/conformance/Programs.h"
#include "tests/kernels/Executable.h"
#include "tests/kernels/Kernels.h"

namespace fattn::conformance {
namespace {

using examples::Blocks, examples::Executable, examples::Layout, examples::Matrix;
using Numbers = std::vector<std::int32_t>;

/// Relative errors of f32's sums; matrix units drop some bits of theirs.
constexpr double kSum = 1e-6, kProduct = 1e-5;

/// One of the kernels of tests/kernels on the device.
std::unique_ptr<Executable> onDevice(Device& device, void (*kernel)(dsl::Params&, DType, Blocks), DType dtype, Blocks blocks) {
  return examples::load(dsl::trace("kernel", [&](dsl::Params& args) { kernel(args, dtype, blocks); }), device);
}

std::int32_t blocks(std::int64_t extent, std::int64_t block) { return static_cast<std::int32_t>((extent + block - 1) / block); }

std::vector<double> product(const Matrix& a, const Matrix& b) {
  std::vector<double> want;
  for (std::int64_t i = 0; i < a.rows(); ++i)
    for (std::int64_t j = 0; j < b.columns(); ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < a.columns(); ++p) sum += a.at(i, p) * b.at(p, j);
      want.push_back(sum);
    }
  return want;
}

TEST_P(Conformance, MasksOfAnyLength) {
  const TileKernel kernel = compile(maskedScaledAdd(), {.target = target()});
  for (const std::size_t length : {1, 63, 64, 65, 201}) {
    std::vector<float> x(length), y(length), want(length);
    for (std::size_t i = 0; i < length; ++i) {
      x[i] = static_cast<float>(i), y[i] = static_cast<float>(7 * i % 100);
      want[i] = 3 * (i % 3 == 0 ? 0.5F : x[i]) + y[i];
    }
    const Array<float> dx(device(), x), dy(device(), y), out(device(), std::vector<float>(length, -1));
    kernel.launch(
        {}, {blocksOf(length)},
        {{"x", dx.data()}, {"y", dy.data()}, {"out", out.data()}, {"length", static_cast<std::int32_t>(length)}, {"factor", 3.0F}});
    EXPECT_EQ(out.read(), want) << length;
    EXPECT_EQ(dx.read(), x);
  }
}

TEST_P(Conformance, ViewsWithAnyStrides) {
  constexpr std::int64_t kRows = 37, kColumns = 21;
  const auto executable = onDevice(device(), examples::copy, DType::F16, {16, 16, 16});
  for (const Layout from : {Layout::Dense, Layout::Transposed, Layout::Spread})
    for (const Layout to : {Layout::Padded, Layout::Transposed, Layout::Shifted}) {
      Matrix x(DType::F16, kRows, kColumns, from), out(DType::F16, kRows, kColumns, to);
      x.fill(1), out.fillZero();
      executable->run({blocks(kRows, 16), blocks(kColumns, 16), 1}, {&x, &out, kRows, kColumns});
      EXPECT_EQ(out.values(), x.values());
      EXPECT_TRUE(x.gapsUntouched() && out.gapsUntouched());
    }
}

TEST_P(Conformance, SumsOfRowsAreTheSameBitsEachTime) {
  constexpr std::int64_t kRows = 19, kColumns = 301;
  const auto executable = onDevice(device(), examples::rowSums, DType::F32, {8, 64, 16});
  Matrix x(DType::F32, kRows, kColumns, Layout::Padded), out(DType::F32, kRows, 1), again(DType::F32, kRows, 1);
  x.fill(1);
  std::vector<double> want(kRows);
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kColumns; ++j) want[static_cast<std::size_t>(i)] += x.at(i, j);
  executable->run({blocks(kRows, 8), 1, 1}, {&x, &out, kRows, kColumns});
  EXPECT_LT(out.relativeError(want), kSum);
  for (int i = 0; i < 3; ++i) {
    again.fillZero();
    executable->run({blocks(kRows, 8), 1, 1}, {&x, &again, kRows, kColumns});
    EXPECT_EQ(again.values(), out.values());
  }
}

TEST_P(Conformance, ProductsOfHalves) {
  constexpr std::int64_t kRows = 45, kColumns = 33, kInner = 70;
  const auto executable = onDevice(device(), examples::matrixProduct, DType::F16, {32, 32, 32});
  Matrix a(DType::F16, kRows, kInner, Layout::Padded), b(DType::F16, kInner, kColumns, Layout::Transposed),
      out(DType::F32, kRows, kColumns);
  a.fill(1), b.fill(2), out.fillZero();
  executable->run({blocks(kRows, 32), blocks(kColumns, 32), 1}, {&a, &b, &out, kRows, kColumns, kInner});
  EXPECT_LT(out.relativeError(product(a, b)), kProduct);
  EXPECT_TRUE(out.gapsUntouched());
}

// The last program of a block finds what the others have written.
TEST_P(Conformance, SplitProductsAreTheSameBitsEachTime) {
  constexpr std::int64_t kRows = 33, kColumns = 20, kInner = 150, kSplits = 3;
  const auto executable = onDevice(device(), examples::splitProduct, DType::F16, {32, 32, 32});
  Matrix a(DType::F16, kRows, kInner), b(DType::F16, kInner, kColumns), parts(DType::F32, kSplits * kRows, kColumns),
      counters(DType::I32, 1, 2), out(DType::F32, kRows, kColumns), again(DType::F32, kRows, kColumns);
  a.fill(1), b.fill(2), counters.fillZero();
  for (Matrix* result : {&out, &again})
    executable->run({blocks(kRows, 32), blocks(kColumns, 32), kSplits}, {&a, &b, &parts, &counters, result, kRows, kColumns, kInner});
  EXPECT_LT(out.relativeError(product(a, b)), kProduct);
  EXPECT_EQ(again.values(), out.values());
  EXPECT_EQ(counters.values(), std::vector<double>(2));
}

TEST_P(Conformance, AtomicAdditionsMissNothing) {
  const TileKernel kernel = compile(histogram(), {.target = target()});
  constexpr std::size_t kLength = 1000, kValues = 5;
  Numbers values(kLength), want(kValues);
  for (std::size_t i = 0; i < kLength; ++i) ++want[static_cast<std::size_t>(values[i] = static_cast<std::int32_t>(i * i % 11 % kValues))];
  const Array<std::int32_t> x(device(), values), counts(device(), Numbers(kValues));
  const auto launch = [&] {
    kernel.launch({}, {blocksOf(kLength)}, {{"x", x.data()}, {"counts", counts.data()}, {"length", static_cast<std::int32_t>(kLength)}});
  };
  launch();
  EXPECT_EQ(counts.read(), want);
  launch();
  for (std::int32_t& count : want) count *= 2;
  EXPECT_EQ(counts.read(), want);
}

}  // namespace
}  // namespace fattn::conformance
