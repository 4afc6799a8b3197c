// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/KernelReference.h"

#include <algorithm>
#include <cmath>

#include "tools/io/Convert.h"
#include "tools/io/Random.h"

namespace fattn::run {
namespace {

io::HostTensor randomTensor(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed, std::uint64_t stream) {
  io::HostTensor tensor = io::HostTensor::allocate(dtype, std::move(shape));
  if (isFloat(dtype)) {
    io::fillNormal(tensor, seed, stream, 0);
    return tensor;
  }
  io::SplitMix64 random(seed * 31 + stream);
  const std::int64_t size = sizeInBytes(dtype);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const auto value = static_cast<float>(random.below(255) - 127);
    io::fromFloat(dtype, &value, tensor.data() + i * size, 1);
  }
  return tensor;
}

double at(const io::HostTensor& tensor, std::int64_t index) {
  return static_cast<double>(io::loadFloat(tensor.dtype(), tensor.data() + index * sizeInBytes(tensor.dtype())));
}

KernelProblem gemmProblem(const KernelOptions& o, std::uint64_t seed) {
  const std::int64_t m = o.extents[0], n = o.extents[1], k = o.extents[2];
  const DType out = o.dtype == DType::I8 ? DType::I32 : o.dtype;
  KernelProblem problem{.templateName = "gemm",
                        .parameters = {{"dtype", std::string(name(o.dtype))},
                                       {"out", std::string(name(out))},
                                       {"a_columns", o.aColumns},
                                       {"b_columns", o.bColumns},
                                       {"bias", o.bias},
                                       {"residual", o.residual},
                                       {"activation", o.activation}},
                        .extents = o.extents,
                        .tensors = {}};
  auto matrix = [](bool columns, std::int64_t rows, std::int64_t width) {
    return columns ? std::vector{width, rows} : std::vector{rows, width};
  };
  problem.tensors.push_back({"a", randomTensor(o.dtype, matrix(o.aColumns, m, k), seed, 0)});
  problem.tensors.push_back({"b", randomTensor(o.dtype, matrix(o.bColumns, k, n), seed, 1)});
  problem.tensors.push_back({"out", io::HostTensor::allocate(out, {m, n})});
  if (o.bias) problem.tensors.push_back({"bias", randomTensor(out, {n}, seed, 2)});
  if (o.residual) problem.tensors.push_back({"residual", randomTensor(out, {m, n}, seed, 3)});
  // Rows that are no multiple of 16 bytes are promised less.
  const bool aligned = std::ranges::all_of(problem.tensors, [](const KernelTensor& tensor) {
    return tensor.values.rank() < 2 || tensor.values.shape().back() * sizeInBytes(tensor.values.dtype()) % 16 == 0;
  });
  problem.parameters.set("alignment", aligned ? std::int64_t{16} : sizeInBytes(o.dtype));
  problem.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return problem;
}

KernelProblem rowsProblem(const KernelOptions& o, std::uint64_t seed) {
  const std::int64_t rows = o.extents[0], columns = o.extents[1];
  KernelProblem problem{.templateName = o.kernel == "softmax"      ? "row_softmax"
                                        : o.kernel == "layer-norm" ? "layer_norm"
                                                                   : "rms_norm",
                        .parameters = {{"dtype", std::string(name(o.dtype))}},
                        .extents = o.extents,
                        .tensors = {}};
  problem.tensors.push_back({"x", randomTensor(o.dtype, {rows, columns}, seed, 0)});
  problem.tensors.push_back({"out", io::HostTensor::allocate(o.dtype, {rows, columns})});
  if (o.kernel != "softmax") problem.tensors.push_back({"weight", randomTensor(o.dtype, {columns}, seed, 1)});
  if (o.kernel == "layer-norm") problem.tensors.push_back({"bias", randomTensor(o.dtype, {columns}, seed, 2)});
  problem.parameters.set("alignment", columns * sizeInBytes(o.dtype) % 16 == 0 ? std::int64_t{16} : sizeInBytes(o.dtype));
  problem.hasEps = o.kernel != "softmax";
  problem.bytes = 2.0 * static_cast<double>(rows * columns * sizeInBytes(o.dtype));
  return problem;
}

std::vector<double> gemmRow(const KernelOptions& o, const KernelProblem& p, std::int64_t row) {
  const std::int64_t m = o.extents[0], n = o.extents[1], k = o.extents[2];
  const io::HostTensor &a = p.tensor("a"), &b = p.tensor("b");
  std::vector<double> left(static_cast<std::size_t>(k)), want(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < k; ++i) left[static_cast<std::size_t>(i)] = at(a, o.aColumns ? i * m + row : row * k + i);
  for (std::int64_t j = 0; j < n; ++j) {
    double x = 0;
    for (std::int64_t i = 0; i < k; ++i) x += left[static_cast<std::size_t>(i)] * at(b, o.bColumns ? j * k + i : i * n + j);
    if (o.bias) x += at(p.tensor("bias"), j);
    if (o.activation == "gelu") x = x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    if (o.activation == "silu") x = x / (1 + std::exp(-x));
    want[static_cast<std::size_t>(j)] = x + (o.residual ? at(p.tensor("residual"), row * n + j) : 0);
  }
  return want;
}

std::vector<double> rowOf(const KernelOptions& o, const KernelProblem& p, double eps, std::int64_t row) {
  const std::int64_t columns = o.extents[1];
  std::vector<double> y;
  for (std::int64_t j = 0; j < columns; ++j) y.push_back(at(p.tensor("x"), row * columns + j));
  const auto count = static_cast<double>(columns);
  if (o.kernel == "softmax") {
    const double top = *std::ranges::max_element(y);
    double sum = 0;
    for (double& x : y) sum += x = std::exp(x - top);
    for (double& x : y) x /= sum;
    return y;
  }
  double mean = 0, squares = 0;
  if (o.kernel == "layer-norm")
    for (const double x : y) mean += x / count;
  for (const double x : y) squares += (x - mean) * (x - mean) / count;
  for (std::int64_t j = 0; j < columns; ++j) {
    double& x = y[static_cast<std::size_t>(j)];
    x = (x - mean) / std::sqrt(squares + eps) * at(p.tensor("weight"), j) + (o.kernel == "layer-norm" ? at(p.tensor("bias"), j) : 0);
  }
  return y;
}

}  // namespace

const io::HostTensor& KernelProblem::tensor(std::string_view name) const {
  return std::ranges::find(tensors, name, &KernelTensor::name)->values;
}

KernelProblem makeKernelProblem(const KernelOptions& options, std::uint64_t seed) {
  return options.kernel == "gemm" ? gemmProblem(options, seed) : rowsProblem(options, seed);
}

KernelCheck checkKernel(const KernelOptions& options, const KernelProblem& problem, double eps, std::uint64_t seed) {
  constexpr double kBudget = 2e8;  // products or elements
  const bool gemm = options.kernel == "gemm";
  const std::int64_t rows = options.extents[0], columns = options.extents[1];
  const double cost = static_cast<double>(columns) * (gemm ? static_cast<double>(options.extents[2]) : 8);
  KernelCheck check{.allowed = options.dtype == DType::F32    ? 4e-6
                               : options.dtype == DType::F16  ? 1e-3
                               : options.dtype == DType::BF16 ? 6e-3
                                                              : 0};
  check.rows = std::clamp<std::int64_t>(static_cast<std::int64_t>(kBudget / cost), 1, rows);
  double error = 0, norm = 0;
  for (std::int64_t i = 0; i < check.rows; ++i) {
    const std::int64_t row = check.rows == rows ? i : (i * rows / check.rows + static_cast<std::int64_t>(seed % 7)) % rows;
    const std::vector<double> want = gemm ? gemmRow(options, problem, row) : rowOf(options, problem, eps, row);
    for (std::int64_t j = 0; j < columns; ++j) {
      const double difference = at(problem.tensor("out"), row * columns + j) - want[static_cast<std::size_t>(j)];
      error += std::isfinite(difference) ? difference * difference : INFINITY;
      norm += want[static_cast<std::size_t>(j)] * want[static_cast<std::size_t>(j)];
    }
  }
  check.relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return check;
}

}  // namespace fattn::run
