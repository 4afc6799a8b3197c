// SPDX-License-Identifier: Apache-2.0
// Packed sequences on the host and on one of AMD's chips, simulated; new lengths in the same memory, and what launches refuse.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/backward/PackedTest.h"
#include "tests/support/Allocations.h"
#include "tests/support/Refusal.h"

namespace fattn::backward {

INSTANTIATE_TEST_SUITE_P(Host, PackedBackward,
                         testing::Combine(testing::Values("host"), testing::Values(DType::F32, DType::F16, DType::BF16)), backwardCaseName);

namespace {

class SimulatedPacked : public PackedBackward {};

TEST_P(SimulatedPacked, AgreesWithFloat64) {
  expectRight({.headsQ = 2, .headsKv = 1, .dim = 32, .dimV = 32, .queries = {40, 0, 17}, .keys = {50, 3, 17}, .causal = true});
}

INSTANTIATE_TEST_SUITE_P(Amd, SimulatedPacked,
                         testing::Values(BackwardCase("simulated:gfx942", DType::BF16), BackwardCase("simulated:gfx1100", DType::F16)),
                         backwardCaseName);

PackedShape small() { return {.queries = {40, 20}, .keys = {30, 20}, .hasDlse = true}; }

TEST(Packed, SequencesOfNoNumbersChangeNoOther) {
  PackedData data({.queries = {70, 5, 33}, .keys = {70, 9, 90}, .spare = 5});
  const PackedBackwardArgs args = data.at(data.memory().data());
  const auto* queries = static_cast<const std::int32_t*>(args.cu_q.data);
  const auto* keys = static_cast<const std::int32_t*>(args.cu_k.data);
  const auto spoil = [](const TensorView& view, std::int64_t first, std::int64_t count) {
    const std::int64_t row = view.shape[1] * view.shape[2];
    std::fill_n(static_cast<float*>(view.data) + first * row, count * row, std::numeric_limits<float>::quiet_NaN());
  };
  for (const TensorView& of : {args.q, args.dout, args.o}) spoil(of, queries[1], 5);
  for (const TensorView& of : {args.k, args.v}) spoil(of, keys[1], 9);
  compile(data.config("host", true)).launchPacked({}, args);
  EXPECT_EQ(data.verdictOf(0), "");
  EXPECT_EQ(data.verdictOf(2), "");
}

TEST(Packed, TheSameLaunchServesOtherLengths) {
  PackedData first({.queries = {5, 60, 35}, .keys = {40, 30, 30}, .causal = true});
  const BackwardKernel kernel = compile(first.config("host", true));
  const PackedBackwardArgs args = first.at(first.memory().data());
  for (const auto& [queries, keys] :
       {std::pair{std::vector{5, 60, 35}, std::vector{40, 30, 30}}, {{0, 100, 0}, {1, 98, 1}}, {{50, 1, 49}, {0, 50, 50}}}) {
    PackedData next({.queries = queries, .keys = keys, .causal = true});
    ASSERT_EQ(next.memory().size(), first.memory().size());
    std::ranges::copy(next.memory(), first.memory().begin());
    kernel.launchPacked({}, args);
    next.memory() = first.memory();
    EXPECT_EQ(next.verdict(), "");
  }
}

TEST(Packed, NumbersBeyondTheRowsReachNothingElse) {
  PackedData data(small());
  std::vector<std::int32_t> wild = {-1 << 30, 1 << 30, -5};
  PackedBackwardArgs args = data.at(data.memory().data());
  args.cu_q = args.cu_k = TensorView(wild.data(), DType::I32, {3});
  const BackwardKernel kernel = compile(data.config("host", true));
  args.workspace_bytes = kernel.workspaceBytesPacked(args);
  EXPECT_NO_THROW(kernel.launchPacked({}, args));
}

TEST(Packed, RowsBeyondTheMostCountAsNotThere) {
  PackedData data({.queries = {30, 20}, .keys = {30, 20}});
  PackedBackwardArgs args = data.at(data.memory().data());
  args.max_q = args.max_k = 20;
  compile(data.config("host", true)).launchPacked({}, args);
  const auto* dq = static_cast<const float*>(args.dq.data);
  const std::int64_t row = args.dq.shape[1] * args.dq.shape[2];
  EXPECT_FALSE(std::isnan(dq[(3 + 19) * row]));
  EXPECT_TRUE(std::isnan(dq[(3 + 20) * row]));
  EXPECT_EQ(data.verdictOf(1), "");
}

TEST(Packed, TheWorkspaceIsAsLargeAsThePageSays) {
  const PackedData data(small());
  PackedBackwardArgs args;
  args.q = TensorView(nullptr, DType::F32, {300, 4, 16});
  args.cu_q = TensorView(nullptr, DType::I32, {4});
  // (300 + 3 * 128) / 128 * 128 = 640 rows
  EXPECT_EQ(compile(data.config("nvidia:sm_80", true)).workspaceBytesPacked(args), 4 * 640 * 8);
  EXPECT_EQ(compile(data.config("nvidia:sm_80", false)).workspaceBytesPacked(args), 4 * 640 * (8 + 4 * 16));
}

TEST(Packed, LaunchesAllocateNothing) {
  PackedData data(small());
  const BackwardKernel kernel = compile(data.config("host", true));
  const PackedBackwardArgs args = data.at(data.memory().data());
  kernel.launchPacked({}, args);
  const long before = test::allocations();
  kernel.launchPacked({}, args);
  EXPECT_EQ(test::allocations(), before);
}

TEST(Packed, WrongOperandsAreNamed) {
  PackedData data(small());
  const BackwardKernel kernel = compile(data.config("host", true));
  const auto refuses = [&](const std::function<void(PackedBackwardArgs&)>& spoil) {
    PackedBackwardArgs args = data.at(data.memory().data());
    spoil(args);
    return refusal([&] { kernel.launchPacked({}, args); });
  };
  EXPECT_EQ(refuses([](PackedBackwardArgs&) {}), "no error");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.dv = a.dv.narrowed(1, 0, 1); }), "dv: heads (dimension 1) is 1; it must be 2 as in k");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.dout = a.dout.narrowed(0, 0, 9); }),
            "dout: rows (dimension 0) is 9; it must be 66 as in q");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.o.dtype = DType::F16; }), "o: dtype is f16; it must be f32");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.lse = a.lse.narrowed(0, 0, 9); }), "lse: rows (dimension 0) is 9; it must be 66 as in q");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.dlse->dtype = DType::BF16; }), "dlse: dtype is bf16; it must be f32");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.cu_k = a.cu_k.narrowed(0, 0, 2); }),
            "cu_k: batch + 1 (dimension 0) is 2; it must be 3 as in cu_q");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.max_q = -1; }), "max_q is -1; it must not be negative");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.max_k = -2; }), "max_k is -2; it must not be negative");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.dv = a.dk; }),
            "dk: it shares memory with dv, and launches read and write in no particular order");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.cu_q.data = a.dq.data; }),
            "dq: it shares memory with cu_q, and launches read and write in no particular order");
  EXPECT_EQ(refuses([](PackedBackwardArgs& a) { a.workspace_bytes = 100; }), "workspace: it has 100 bytes; this launch needs 8192");
  EXPECT_EQ(refusal([&] { kernel.launch({}, {}); }), "this BackwardKernel is for packed sequences");
  EXPECT_EQ(refusal([&] { kernel.workspaceBytes({}); }), "this BackwardKernel is for packed sequences");
  EXPECT_EQ(refusal([] { compile(configOf({}, "host", true)).launchPacked({}, {}); }), "this BackwardKernel is not for packed sequences");
  EXPECT_EQ(refusal([] { BackwardKernel().launchPacked({}, {}); }), "this BackwardKernel is empty");
}

TEST(Packed, BlocksHaveToDivideTheStatistics) {
  const BackwardConfig config{.head_dim = 64, .deterministic = true, .packed = true, .target = "host", .tile = TileConfig{.block_m = 24}};
  const auto verdict = supports(config);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().constraint(), "tile: BLOCK_M is 24; where sequences are packed, it must divide 128");
}

}  // namespace
}  // namespace fattn::backward
