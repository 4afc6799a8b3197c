// SPDX-License-Identifier: Apache-2.0
// Packed sequences on the host and on AMD's chips, simulated; new lengths in the same memory, and what launches refuse.
#include <functional>

#include "tests/support/Refusal.h"
#include "tests/varlen/VarlenTest.h"

namespace fattn::varlen {

INSTANTIATE_TEST_SUITE_P(Host, PackedSequences,
                         testing::Values(DeviceCase("host", DType::F32), DeviceCase("host", DType::F16), DeviceCase("host", DType::BF16)),
                         deviceCaseName);
INSTANTIATE_TEST_SUITE_P(Simulated, PackedSequences,
                         testing::Values(DeviceCase("simulated:gfx942", DType::BF16), DeviceCase("simulated:gfx1100", DType::F16)),
                         deviceCaseName);

namespace {

TEST(Varlen, TheSameLaunchServesOtherLengths) {
  const VarlenShape shape{.queries = {5, 60, 35}, .keys = {40, 30, 30}, .causal = true};
  VarlenData data(shape);
  const VarlenKernel kernel = compile(data.config("host"));
  const VarlenArgs args = data.at(data.memory().data());
  for (const auto& [queries, keys] :
       {std::pair{std::vector{5, 60, 35}, std::vector{40, 30, 30}}, {{0, 100, 0}, {1, 98, 1}}, {{50, 1, 49}, {0, 50, 50}}}) {
    VarlenShape other = shape;
    other.queries = queries, other.keys = keys;
    VarlenData next(other, 7);
    ASSERT_EQ(next.memory().size(), data.memory().size());
    data.memory() = next.memory();
    ASSERT_EQ(data.memory().data(), static_cast<const std::byte*>(args.q.data));  // the first of the operands
    kernel.launch({}, args);
    next.memory() = data.memory();
    EXPECT_LE(next.errors().o, next.tolerance().o);
    EXPECT_LE(next.errors().lse, next.tolerance().lse);
  }
}

TEST(Varlen, NumbersBeyondTheRowsReachNothingElse) {
  VarlenData data({.queries = {5, 60, 35}, .keys = {40, 30, 30}});
  const VarlenKernel kernel = compile(data.config("host"));
  std::vector<std::int32_t> wild = {-1 << 30, 1 << 30, -5, 1 << 30};
  VarlenArgs args = data.at(data.memory().data());
  args.cu_q = args.cu_k = TensorView(wild.data(), DType::I32, {4});
  EXPECT_NO_THROW(kernel.launch({}, args));
}

TEST(Varlen, WrongOperandsAreNamed) {
  VarlenData data({.queries = {40, 20}, .keys = {30, 20}});
  const VarlenKernel kernel = compile(data.config("host"));
  auto refuses = [&](const std::function<void(VarlenArgs&)>& spoil) {
    VarlenArgs args = data.at(data.memory().data());
    spoil(args);
    return refusal([&] { kernel.launch({}, args); });
  };
  EXPECT_EQ(refuses([](VarlenArgs&) {}), "no error");
  EXPECT_EQ(refuses([](VarlenArgs& a) { a.k = a.k.narrowed(1, 0, 1); }), "v: heads (dimension 1) is 2; it must be 1 as in k");
  EXPECT_EQ(refuses([](VarlenArgs& a) { a.v.dtype = DType::F16; }), "v: dtype is f16; it must be f32");
  EXPECT_EQ(refuses([](VarlenArgs& a) { a.q = a.q.narrowed(2, 0, 8); }),
            "q: head_dim (dimension 2) is 8; it must be 16, which this kernel was compiled for");
  EXPECT_EQ(refuses([](VarlenArgs& a) { a.cu_k = a.cu_k.narrowed(0, 0, 2); }),
            "cu_k: batch + 1 (dimension 0) is 2; it must be 3 as in cu_q");
  EXPECT_EQ(refuses([](VarlenArgs& a) { a.cu_q = a.cu_q.narrowed(0, 0, 0); }),
            "cu_q: it has no elements; it must have one more than there are sequences");
  EXPECT_EQ(refuses([](VarlenArgs& a) { a.o = a.o.narrowed(0, 0, 9); }), "o: rows (dimension 0) is 9; it must be 66 as in q");
  EXPECT_EQ(refuses([](VarlenArgs& a) { a.max_q = -1; }), "max_q is -1; it must not be negative");
  EXPECT_EQ(refuses([](VarlenArgs& a) { a.lse = TensorView(a.o.data, DType::F32, {66, 4}); }),
            "o: it shares memory with lse, and launches read and write in no particular order");
  EXPECT_EQ(refusal([] { VarlenKernel().launch({}, {}); }), "this VarlenKernel is empty");
}

TEST(Varlen, WrongConfigurationsAreRefused) {
  auto refuses = [](const VarlenConfig& config) {
    const auto verdict = supports(config);
    EXPECT_EQ(try_compile(config).has_value(), verdict.has_value());
    return verdict ? "supported" : verdict.error().constraint();
  };
  EXPECT_EQ(refuses({.head_dim = 12, .target = "host"}), "head_dim is 12; it must be a multiple of 8 from 8 to 256");
  EXPECT_EQ(refuses({.dtype = DType::I8, .head_dim = 64, .target = "host"}), "dtype is i8; it must be f32, f16 or bf16");
  EXPECT_EQ(refuses({.head_dim = 64, .target = "host", .tile = TileConfig{.block_k = 16}}),
            "tile configuration: BLOCK_K is not a choice of attention");
  EXPECT_EQ(refuses({.head_dim = 64, .target = "host"}), "supported");
}

}  // namespace
}  // namespace fattn::varlen
