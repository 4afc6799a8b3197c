// SPDX-License-Identifier: Apache-2.0
// The backward pass on the host, and what launches refuse.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "fattn/Template.h"
#include "tests/backward/BackwardTest.h"
#include "tests/support/Allocations.h"
#include "tests/support/Refusal.h"
#include "tools/io/Convert.h"

namespace fattn::backward {

INSTANTIATE_TEST_SUITE_P(Host, BackwardOnDevice,
                         testing::Combine(testing::Values("host"), testing::Values(DType::F32, DType::F16, DType::BF16)), backwardCaseName);

namespace {

TEST(Backward, WrongOperandsAreNamed) {
  BackwardData data({.headsQ = 4, .headsKv = 2, .queries = 40, .keys = 40, .hasDlse = true});
  const BackwardKernel kernel = compile(configOf(data.shape(), "host", false));
  const auto refuses = [&](const std::function<void(BackwardArgs&)>& spoil) {
    BackwardArgs args = argsOf(data, data.memory().data());
    spoil(args);
    return refusal([&] { kernel.launch({}, args); });
  };
  EXPECT_EQ(refuses([](BackwardArgs&) {}), "no error");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.k = a.k.narrowed(2, 0, 39), a.dk = a.dk.narrowed(2, 0, 39); }),
            "dv: length (dimension 2) is 40; it must be 39 as in k");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.dv = a.dv.narrowed(1, 0, 1); }), "dv: heads (dimension 1) is 1; it must be 2 as in k");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.dout = a.dout.narrowed(2, 0, 39); }),
            "dout: length (dimension 2) is 39; it must be 40 as in q");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.o.dtype = DType::F16; }), "o: dtype is f16; it must be f32");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.lse = a.lse.narrowed(2, 0, 39); }), "lse: length (dimension 2) is 39; it must be 40 as in q");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.lse = TensorView(); }), "lse: rank is 0; it must be 3: batch, heads, length");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.dlse->dtype = DType::BF16; }), "dlse: dtype is bf16; it must be f32");
  EXPECT_EQ(refuses([](BackwardArgs& a) {
              a.q = a.q.narrowed(1, 0, 3), a.o = a.o.narrowed(1, 0, 3), a.dout = a.dout.narrowed(1, 0, 3), a.dq = a.dq.narrowed(1, 0, 3);
            }),
            "q: heads (dimension 1) is 3; it must be a multiple of the 2 heads of k and v");
  EXPECT_EQ(
      refuses([](BackwardArgs& a) { a.dq.strides[2] = 0; }),
      "dq: f32 [1, 4, 40, 16] strides [2560, 640, 0, 1] holds elements that overlap in memory; the elements of an output must be distinct");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.dq = a.q; }),
            "dq: it shares memory with q, and launches read and write in no particular order");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.dv = a.dk; }),
            "dk: it shares memory with dv, and launches read and write in no particular order");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.workspace_bytes = 100; }), "workspace: it has 100 bytes; this launch needs 4096");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.workspace = nullptr; }), "workspace: it has 0 bytes; this launch needs 4096");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.workspace = static_cast<std::byte*>(a.workspace) + 4; }),
            "workspace: its address is not a multiple of 16 bytes");
  EXPECT_EQ(refuses([](BackwardArgs& a) { a.workspace = a.dq.data; }),
            "workspace: it shares memory with dq, and launches read and write in no particular order");
  EXPECT_EQ(refusal([] { BackwardKernel().launch({}, {}); }), "this BackwardKernel is empty");
}

TEST(Backward, WrongConfigurationsAreRefused) {
  const auto refuses = [](const BackwardConfig& config) {
    const auto verdict = supports(config);
    EXPECT_EQ(try_compile(config).has_value(), verdict.has_value());
    return verdict ? "supported" : verdict.error().constraint();
  };
  EXPECT_EQ(refuses({.head_dim = 12, .target = "host"}), "head_dim is 12; it must be a multiple of 8 from 8 to 256");
  EXPECT_EQ(refuses({.head_dim = 16, .head_dim_v = 264, .target = "host"}), "head_dim_v is 264; it must be a multiple of 8 from 8 to 256");
  EXPECT_EQ(refuses({.dtype = DType::F8E4M3, .head_dim = 64, .target = "host"}), "dtype is f8e4m3; it must be f32, f16 or bf16");
  EXPECT_EQ(refuses({.head_dim = 64, .target = "host", .alignment = 3}),
            "alignment is 3; it must be a power of two from 2, the size of f16, to 16");
  EXPECT_EQ(refuses({.head_dim = 64, .target = "host", .tile = TileConfig{.block_k = 16}}),
            "tile: BLOCK_K is no choice of the backward pass");
  EXPECT_EQ(refuses({.head_dim = 64, .deterministic = false, .target = "nvidia:sm_80", .tile = TileConfig{.block_m = 24}}),
            "tile: BLOCK_M is 24; where the mode is not deterministic, it must divide 128");
  EXPECT_EQ(refuses({.head_dim = 64, .deterministic = false, .target = "nvidia:sm_90a", .tile_dq = TileConfig{.block_m = 16}}),
            "tile_dq: only the deterministic mode has a kernel for dQ that it could be for");
  EXPECT_EQ(refuses({.head_dim = 64, .target = "host", .tile = TileConfig{.block_m = 24}}), "supported");
}

TEST(Backward, WhereSumsAreTheSlowerModeNoneAreMade) {
  const auto sums = [](const BackwardConfig& config) { return !compile(config).config().deterministic; };
  EXPECT_TRUE(sums({.head_dim = 16, .target = "nvidia:sm_80"}));
  EXPECT_FALSE(sums({.head_dim = 24, .target = "nvidia:sm_80"})) << "no whole fragments";
  EXPECT_FALSE(sums({.head_dim = 48, .target = "nvidia:sm_80"})) << "an odd number of columns of fragments";
  EXPECT_TRUE(sums({.head_dim = 128, .target = "nvidia:sm_80"}));
  EXPECT_TRUE(sums({.head_dim = 128, .causal = true, .target = "nvidia:sm_80"}));
  EXPECT_TRUE(sums({.head_dim = 256, .causal = true, .target = "nvidia:sm_80"}));
  EXPECT_FALSE(sums({.head_dim = 256, .target = "nvidia:sm_90a"})) << "an engine adds, but blocks of keys are small";
  EXPECT_TRUE(sums({.dtype = DType::F32, .head_dim = 16, .target = "nvidia:sm_80"}));
  EXPECT_TRUE(sums({.head_dim = 16, .target = "nvidia:sm_90a"}));
  EXPECT_FALSE(sums({.head_dim = 16, .target = "nvidia:sm_90a", .alignment = 2}));
  EXPECT_FALSE(sums({.head_dim = 16, .target = "amd:gfx942"}));
  EXPECT_TRUE(sums({.head_dim = 16, .target = "nvidia:sm_80", .tile = TileConfig{}}));
}

TEST(Backward, BlocksThatDoNotDivideTheWorkspaceAreRightToo) {
  const BackwardShape shape{.queries = 150, .keys = 60, .causal = true};
  BackwardConfig config = configOf(shape, "host", true);
  config.tile = TileConfig{.block_m = 24, .block_n = 40}, config.tile_dq = TileConfig{.block_m = 40, .block_n = 24};
  BackwardData data(shape);
  compile(config).launch({}, argsOf(data, data.memory().data()));
  EXPECT_EQ(data.verdict(), "");
}

TEST(Backward, TheWorkspaceIsAsLargeAsThePageSays) {
  const BackwardShape shape{.batch = 2, .headsQ = 3, .queries = 130, .dim = 24};
  BackwardArgs args;
  args.q = TensorView(nullptr, DType::F32, {2, 3, 130, 24});
  EXPECT_EQ(compile(configOf(shape, "nvidia:sm_80", true)).workspaceBytes(args), 2 * 3 * 256 * 8);
  EXPECT_EQ(compile(configOf(shape, "nvidia:sm_80", false)).workspaceBytes(args), 2 * 3 * 256 * (8 + 4 * 24));
  EXPECT_EQ(compile(configOf(shape, "host", false)).workspaceBytes(args), 2 * 3 * 256 * 8);
}

// The product overflowed: a workspace of a negative size was enough.
TEST(Backward, AWorkspaceThatNoMemoryHasIsRefused) {
  const BackwardKernel kernel = compile(configOf({.dim = 24}, "host", false));
  const auto said = [&](std::initializer_list<std::int64_t> shape) -> std::string {
    BackwardArgs args;
    args.q = TensorView(nullptr, DType::F32, shape);
    try {
      return std::to_string(kernel.workspaceBytes(args));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.constraint();
    }
  };
  EXPECT_EQ(said({1 << 30, 1 << 30, 1 << 30, 24}), "workspace: a launch of these shapes needs more bytes than 63 bits count");
  EXPECT_EQ(said({1 << 30, 1 << 30, 0, 24}), "0");
  EXPECT_EQ(said({-1, 1, 1, 24}), "q: batch (dimension 0) is -1; legal extents are 0 to 2147483647");
  EXPECT_EQ(said({1, 1, INT64_MAX, 24}), "q: length (dimension 2) is 9223372036854775807; legal extents are 0 to 2147483647");
  EXPECT_EQ(said({1, 24}), "q: rank is 2; it must be 4: batch, heads, length, head_dim");
}

// Random statistics made dS of f16 infinite, so that candidates of the tuner failed that are right.
TEST(Backward, ResultsOfTheTunersOperandsAreFinite) {
  for (const char* name :
       {"attention_backward_rows", "attention_backward_keys", "attention_backward_queries", "attention_backward_round"}) {
    const auto from = findTemplate(name);
    const std::vector<Operand> operands = from->operands(from->parameters, std::vector<std::int64_t>{1, 1, 256, 256});
    std::minstd_rand engine(static_cast<unsigned>(operands.size()));
    std::normal_distribution<float> normal(0, 1.2f);  // as the tuner's numbers
    std::vector<std::vector<float>> memory;
    std::vector<TensorView> views;
    views.reserve(operands.size()), memory.reserve(operands.size());
    std::vector<Argument> arguments;
    for (const Operand& operand : operands) {
      if (operand.isScalar && operand.dtype == DType::F32) arguments.emplace_back(operand.name, operand.real);
      if (operand.isScalar && operand.dtype != DType::F32) arguments.emplace_back(operand.name, operand.whole);
      if (operand.isScalar) continue;
      TensorView view(nullptr, operand.dtype, operand.shape);
      std::vector<float> numbers(static_cast<std::size_t>(view.elements()));
      for (float& number : numbers) number = normal(engine);
      view.data = memory.emplace_back(numbers.size()).data();  // of f16 the first half of it
      io::fromFloat(operand.dtype, numbers.data(), static_cast<std::byte*>(const_cast<void*>(view.data)), numbers.size());
      arguments.emplace_back(operand.name, views.emplace_back(view));
    }
    compile(*from, {}, {.target = "host"}).launch({}, std::vector<std::int64_t>{1, 1, 256, 256}, arguments);
    std::size_t tensor = 0;
    for (const Operand& operand : operands) {
      if (operand.isScalar) continue;
      std::vector<float> numbers(static_cast<std::size_t>(views[tensor].elements()));
      io::toFloat(operand.dtype, static_cast<const std::byte*>(views[tensor].data), numbers.data(), numbers.size());
      if (operand.written) {
        EXPECT_TRUE(std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); })) << name << " " << operand.name;
      }
      ++tensor;
    }
  }
}

TEST(Backward, LaunchesAllocateNothing) {
  BackwardData data({.queries = 70, .keys = 70});
  const BackwardKernel kernel = compile(configOf(data.shape(), "host", false));
  EXPECT_TRUE(kernel.config().deterministic);
  const BackwardArgs args = argsOf(data, data.memory().data());
  kernel.launch({}, args);
  const long before = test::allocations();
  kernel.launch({}, args);
  EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace fattn::backward
