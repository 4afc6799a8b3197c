// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "kernels/attention/AttentionLaunch.h"
#include "kernels/attention/AttentionSupport.h"
#include "tests/unit/kernels/StandIn.h"

namespace fattn {
namespace {

// A legal launch of B 2, Hq 4, Hkv 2, Sq 10, Skv 12, D 16, Dv 24, which each test spoils in one place.
struct Launch {
  alignas(64) static inline float memory[8192]{};  // never accessed: checking and packing touch no element
  kernels::ForwardKind kind{.dtype = DType::F32, .head_dim = 16, .head_dim_v = 24, .alignment = 4};
  AttentionArgs args{.q = {memory, DType::F32, {2, 4, 10, 16}},
                     .k = {memory, DType::F32, {2, 2, 12, 16}},
                     .v = {memory, DType::F32, {2, 2, 12, 24}},
                     .o = {memory + 2048, DType::F32, {2, 4, 10, 24}},
                     .lse = TensorView(memory + 4096, DType::F32, {2, 4, 10})};
  kernels::LaunchLimits limits{.grid = {1000, 1000, 1000}, .block = 8};

  kernels::AttentionLaunch pack() const {
    return kernels::packAttention(kind, kernels::AttentionSlots(test::attentionArgs(DType::F32), DType::F32), args, limits);
  }
  std::string error() const try {
    pack();
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
};

std::uint64_t slotOf(const kernels::AttentionLaunch& packed, const std::string& name) { return packed.slots[test::attentionSlot(name)]; }

TEST(AttentionLaunch, PacksEachValueUnderItsName) {
  Launch launch;
  float* memory = launch.memory;
  launch.args = {.q = TensorView(memory, DType::F32, {2, 10, 4, 16}).transposed(1, 2),
                 .k = TensorView(memory + 1, DType::F32, {2, 2, 12, 16}),
                 .v = TensorView(memory + 2, DType::F32, {2, 2, 12, 24}, {10'000'000'000, 1000, 30, 1}),
                 .o = TensorView(memory + 2048, DType::F32, {2, 4, 10, 24}),
                 .lse = TensorView(memory + 4096, DType::F32, {2, 4, 10}),
                 .scale = 0.5f};
  kernels::AttentionLaunch packed = launch.pack();
  EXPECT_EQ(packed.extents, (std::array<std::int64_t, 4>{10, 12, 8, 2})) << "rows, keys, heads of all batch entries, batch";
  const Grid grid = kernels::forwardTemplate().grid(kernels::forwardTemplate().parameters, {.block_m = 8}, packed.extents);
  EXPECT_EQ((std::array<std::int64_t, 3>{grid.x, grid.y, grid.z}), (std::array<std::int64_t, 3>{2, 4, 2}));
  auto expectOperand = [&](const std::string& name, int offset, std::array<std::uint64_t, 3> strides) {
    EXPECT_EQ(slotOf(packed, name), reinterpret_cast<std::uint64_t>(memory + offset)) << name;
    EXPECT_EQ((std::array{slotOf(packed, name + "_batch"), slotOf(packed, name + "_head"), slotOf(packed, name + "_row")}), strides)
        << name;
  };
  expectOperand("q", 0, {640, 16, 64});
  expectOperand("k", 1, {384, 192, 16});
  expectOperand("v", 2, {10'000'000'000, 1000, 30});
  expectOperand("o", 2048, {960, 240, 24});
  expectOperand("lse", 4096, {40, 10, 1});
  EXPECT_EQ((std::array{slotOf(packed, "heads"), slotOf(packed, "group"), slotOf(packed, "seq_q"), slotOf(packed, "seq_k")}),
            (std::array<std::uint64_t, 4>{4, 2, 10, 12}));
  EXPECT_EQ(slotOf(packed, "scale"), std::bit_cast<std::uint32_t>(0.5f));
  EXPECT_EQ(slotOf(packed, "write_lse"), 1u);
}

TEST(AttentionLaunch, DefaultsWithoutLseAndScale) {
  Launch launch;
  launch.args.lse.reset();
  kernels::AttentionLaunch packed = launch.pack();
  EXPECT_EQ(slotOf(packed, "lse"), 0u);
  EXPECT_EQ(slotOf(packed, "write_lse"), 0u);
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(slotOf(packed, "scale"))), 0.25f);
}

TEST(AttentionLaunch, EmptyTensorsNeedNoMemory) {
  Launch launch;
  launch.args.k = {nullptr, DType::F32, {2, 2, 0, 16}};
  launch.args.v = {nullptr, DType::F32, {2, 2, 0, 24}};
  EXPECT_EQ(slotOf(launch.pack(), "seq_k"), 0u);
  launch.args = {.q = {nullptr, DType::F32, {0, 4, 10, 16}},
                 .k = {nullptr, DType::F32, {0, 2, 12, 16}},
                 .v = {nullptr, DType::F32, {0, 2, 12, 24}},
                 .o = {nullptr, DType::F32, {0, 4, 10, 24}}};
  const Grid grid = kernels::forwardTemplate().grid(kernels::forwardTemplate().parameters, {.block_m = 8}, launch.pack().extents);
  EXPECT_EQ(grid.x * grid.y * grid.z, 0);
}

// Nothing is read at the stride of a single batch entry, head or row: whatever it is breaks no promise.
TEST(AttentionLaunch, TheStrideOfASingleEntryIsWhatEveryKernelTakes) {
  Launch launch;
  for (TensorView* view : {&launch.args.q, &launch.args.k, &launch.args.v, &launch.args.o}) {
    view->shape = {1, 1, 1, view->shape[3]};
    view->strides = {3, 5, 7, 1};
  }
  launch.args.lse.reset();
  const kernels::AttentionLaunch packed = launch.pack();
  for (const auto& [name, width] : {std::pair<std::string, std::uint64_t>{"q", 16}, {"k", 16}, {"v", 24}, {"o", 24}}) {
    EXPECT_EQ(slotOf(packed, name + "_batch"), 0u) << name;
    EXPECT_EQ(slotOf(packed, name + "_head"), 0u) << name;
    EXPECT_EQ(slotOf(packed, name + "_row"), width) << name;
  }
}

TEST(AttentionLaunch, RankAndDType) {
  Launch launch;
  launch.args.k = {launch.memory, DType::F32, {2, 12, 16}};
  EXPECT_EQ(launch.error(), "k: rank is 3; it must be 4: batch, heads, length, head_dim");
  launch = {};
  launch.args.v.dtype = DType::F16;
  EXPECT_EQ(launch.error(), "v: dtype is f16; it must be f32\n  hint: compile a kernel for the dtype of the tensors");
  launch = {};
  launch.args.lse->dtype = DType::BF16;
  EXPECT_EQ(launch.error(), "lse: dtype is bf16; it must be f32");
  launch = {};
  launch.args.lse = TensorView(launch.memory, DType::F32, {2, 4, 10, 1});
  EXPECT_EQ(launch.error(), "lse: rank is 4; it must be 3: batch, heads, length");
}

TEST(AttentionLaunch, ExtentsThatDisagree) {
  auto with = [](auto change) {
    Launch launch;
    change(launch.args);
    return launch.error();
  };
  EXPECT_EQ(with([](auto& a) { a.q.shape[3] = 8; }), "q: head_dim (dimension 3) is 8; this kernel was compiled for 16");
  EXPECT_EQ(with([](auto& a) { a.k.shape[3] = 24; }), "k: head_dim (dimension 3) is 24; this kernel was compiled for 16");
  EXPECT_EQ(with([](auto& a) { a.o.shape[3] = 16; }), "o: head_dim (dimension 3) is 16; this kernel was compiled for 24");
  EXPECT_EQ(with([](auto& a) { a.k.shape[0] = 1; }), "k: batch (dimension 0) is 1; it must be 2 as in q");
  EXPECT_EQ(with([](auto& a) { a.v.shape[0] = 3; }), "v: batch (dimension 0) is 3; it must be 2 as in q");
  EXPECT_EQ(with([](auto& a) { a.v.shape[1] = 4; }), "v: heads (dimension 1) is 4; it must be 2 as in k");
  EXPECT_EQ(with([](auto& a) { a.v.shape[2] = 11; }), "v: length (dimension 2) is 11; it must be 12 as in k");
  EXPECT_EQ(with([](auto& a) { a.o.shape[2] = 12; }), "o: length (dimension 2) is 12; it must be 10 as in q");
  EXPECT_EQ(with([](auto& a) { a.lse->shape[1] = 2; }), "lse: heads (dimension 1) is 2; it must be 4 as in q");
  EXPECT_EQ(with([](auto& a) { a.k.shape[1] = a.v.shape[1] = 3; }),
            "q: heads (dimension 1) is 4; it must be a multiple of the 3 heads of k and v");
  EXPECT_EQ(with([](auto& a) { a.k.shape[1] = a.v.shape[1] = 0; }),
            "q: heads (dimension 1) is 4; it must be a multiple of the 0 heads of k and v");
}

TEST(AttentionLaunch, ExtentsOutOfRange) {
  Launch launch;
  launch.args.q.shape[2] = -1;
  EXPECT_EQ(launch.error(), "q: length (dimension 2) is -1; legal extents are 0 to 2147483647");
  launch.args.q.shape[2] = 1ll << 31;
  EXPECT_EQ(launch.error(), "q: length (dimension 2) is 2147483648; legal extents are 0 to 2147483647");
  launch = {};
  launch.args.q = {launch.memory, DType::F32, {INT32_MAX, INT32_MAX, 10, 16}};
  EXPECT_EQ(launch.error(),
            "q: f32 [2147483647, 2147483647, 10, 16] strides [343597383520, 160, 16, 1] spans more bytes than 63 bits count");
  launch = {};
  launch.limits.grid = {1, 3, 2};
  EXPECT_EQ(launch.error(),
            "q: f32 [2, 4, 10, 16] strides [640, 160, 16, 1] is too large for one launch; "
            "this device takes up to 2 batch entries, 3 heads and 8 rows");
  launch.kind.causal = true;
  launch.limits.grid = {7, 3, 1};
  EXPECT_EQ(launch.error(),
            "q: f32 [2, 4, 10, 16] strides [640, 160, 16, 1] is too large for one launch; "
            "this device takes up to 7 heads of all batch entries and 24 rows");
}

TEST(AttentionLaunch, Strides) {
  Launch launch;
  launch.args.q.strides = {1280, 320, 32, 2};
  EXPECT_EQ(launch.error(),
            "q: the stride of head_dim (dimension 3) is 2; it must be 1\n"
            "  hint: the other strides are free; copy the tensor so that the elements of a row lie side by side");
  launch = {};
  launch.args.k.strides[2] = -16;
  EXPECT_EQ(launch.error(), "k: the stride of length (dimension 2) is -16; strides must not be negative");
  launch = {};
  launch.args.k.strides[1] = 0;  // one head of k read as two is fine
  EXPECT_EQ(launch.error(), "no error");
  launch.args.o.strides[1] = 0;
  EXPECT_EQ(
      launch.error(),
      "o: f32 [2, 4, 10, 24] strides [960, 0, 24, 1] holds elements that overlap in memory; the elements of an output must be distinct");
  launch = {};
  launch.args.o.strides[2] = 23;
  EXPECT_EQ(
      launch.error(),
      "o: f32 [2, 4, 10, 24] strides [960, 240, 23, 1] holds elements that overlap in memory; the elements of an output must be distinct");
  launch = {};
  launch.args.lse->strides[2] = 0;
  EXPECT_EQ(launch.error(),
            "lse: f32 [2, 4, 10] strides [40, 10, 0] holds elements that overlap in memory; the elements of an output must be distinct");
}

TEST(AttentionLaunch, StridesOfSingleEntriesDoNotMatter) {
  Launch launch;
  launch.args.o = {launch.memory + 2048, DType::F32, {1, 4, 10, 24}, {-7, 240, 24, 1}};
  for (TensorView* view : {&launch.args.q, &launch.args.k, &launch.args.v, &*launch.args.lse}) view->shape[0] = 1;
  EXPECT_EQ(launch.error(), "no error");
}

TEST(AttentionLaunch, Pointers) {
  Launch launch;
  launch.args.v.data = nullptr;
  EXPECT_EQ(launch.error(), "v: the data pointer is null, but the shape holds 1152 elements");
  launch.args.v.data = reinterpret_cast<char*>(launch.memory) + 2;
  EXPECT_EQ(launch.error(), "v: the data pointer is not a multiple of 4 bytes, the size of f32");
}

TEST(Kernel, AnEmptyHandleSaysSo) {
  Kernel kernel;
  EXPECT_FALSE(kernel);
  try {
    kernel.launch({}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "this Kernel is empty\n  hint: assign the result of fattn::compile to it");
  }
}

}  // namespace
}  // namespace fattn
