// SPDX-License-Identifier: Apache-2.0
// The gradients are those of the forward kernel: along random directions they say by how much its results change, both through the
// interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/ProgramOrder.h"
#include "tests/backward/BackwardPrograms.h"

namespace fattn::backward {
namespace {

constexpr BackwardShape kShape{.headsQ = 4, .headsKv = 2, .queries = 9, .keys = 7, .dim = 8, .dimV = 16, .causal = true, .hasDlse = true};

double product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

std::vector<float> numbersOf(const TensorView& view) {
  std::vector<float> numbers(static_cast<std::size_t>(view.elements()));
  std::memcpy(numbers.data(), view.data, numbers.size() * sizeof(float));
  return numbers;
}

/// What o and lse weigh with dout and dlse. Rows that see no key weigh nothing.
double lossOf(BackwardData& data) {
  const auto& [q, k, v, o, dout, lse, dlse, dq, dk, dv] = data.here();
  const BackwardShape& shape = data.shape();
  const kernels::ForwardKind kind{.dtype = shape.dtype,
                                  .head_dim = shape.dim,
                                  .head_dim_v = shape.dimV,
                                  .causal = shape.causal,
                                  .alignment = static_cast<std::int32_t>(sizeInBytes(shape.dtype))};
  std::vector<Argument> arguments = {{"q", q}, {"k", k}, {"v", v}, {"o", o}, {"lse", lse}};
  std::vector<std::string> names;
  names.reserve(15);
  for (const auto& [name, view] : {std::pair<const char*, const TensorView&>{"q", q}, {"k", k}, {"v", v}, {"o", o}, {"lse", lse}})
    for (const auto& [d, stride] : {std::pair{0, "_batch"}, {1, "_head"}, {2, "_row"}})
      arguments.emplace_back(names.emplace_back(std::string(name) + stride), view.strides[d]);
  for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"heads", shape.headsQ},
                                    {"group", shape.headsQ / shape.headsKv},
                                    {"seq_q", shape.queries},
                                    {"seq_k", shape.keys},
                                    {"write_lse", 1}})
    arguments.emplace_back(name, value);
  arguments.emplace_back("scale", shape.scale());
  const dsl::Program program = traceAttentionForward(kind, {.block_m = 16, .block_n = 8});
  const kernels::BlockCounts counts{1, shape.headsQ, 1};
  const Grid grid = shape.causal ? kernels::unevenGrid(counts) : kernels::evenGrid(counts);
  interpreter::run(test::functionOf(program), test::bySlot(program, arguments),
                   {static_cast<std::int32_t>(grid.x), static_cast<std::int32_t>(grid.y), static_cast<std::int32_t>(grid.z)});
  double loss = product(numbersOf(o), numbersOf(dout));
  const std::vector<float> logs = numbersOf(lse), weights = numbersOf(dlse);
  for (std::size_t i = 0; i < logs.size(); ++i)
    if (std::isfinite(logs[i])) loss += static_cast<double>(logs[i]) * weights[i];
  return loss;
}

TEST(Backward, GradientsAreTheForwardsCentralDifferences) {
  BackwardData data(kShape);
  backwardBy([](const dsl::Program& program, const std::vector<Argument>& arguments,
                interpreter::Grid grid) { interpreter::run(test::functionOf(program), test::bySlot(program, arguments), grid); },
             data, false, {.keys = {.block_m = 8, .block_n = 8}, .queries = {.block_m = 8, .block_n = 8}, .rows = {.block_m = 16}});
  const BackwardViews views = data.here();
  constexpr float kStep = 0.01f;
  std::uint64_t state = 1;
  for (const auto& [name, operand, gradient] :
       {std::tuple<const char*, TensorView, TensorView>{"q", views.q, views.dq}, {"k", views.k, views.dk}, {"v", views.v, views.dv}}) {
    const std::vector<float> before = numbersOf(operand);
    std::vector<float> direction(before.size());
    for (float& d : direction) d = static_cast<float>((state = state * 6364136223846793005 + 1442695040888963407) >> 40) * 0x1p-23f - 1;
    const auto lossAt = [&](float step) {
      for (std::size_t i = 0; i < before.size(); ++i) static_cast<float*>(operand.data)[i] = before[i] + step * direction[i];
      return lossOf(data);
    };
    const double slope = (lossAt(kStep) - lossAt(-kStep)) / (2 * kStep), said = product(numbersOf(gradient), direction);
    lossAt(0);
    // Loss and steps are f32's: about 1e-4, and as much for what bends.
    EXPECT_NEAR(said, slope, 2e-3 * (1 + std::abs(slope))) << name;
    EXPECT_GT(std::abs(slope), 0.1) << name;
  }
}

}  // namespace
}  // namespace fattn::backward
