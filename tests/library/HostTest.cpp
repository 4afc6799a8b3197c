// SPDX-License-Identifier: Apache-2.0
// The calls on the host, and what they refuse.
#include <numeric>

#include "tests/library/LibraryTest.h"
#include "tests/support/Allocations.h"
#include "tests/support/Refusal.h"

namespace fattn {

INSTANTIATE_TEST_SUITE_P(Host, LibraryTest, testing::Combine(testing::Values("host"), testing::Values(DType::F32, DType::F16, DType::BF16)),
                         libraryCaseName);

namespace {

TEST(Library, GemmOfBytesIsExact) {
  std::vector<std::int8_t> a(33 * 70), b(70 * 45);
  std::vector<std::int32_t> out(33 * 45, -7), bias(45);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::int8_t>(i * 91 % 255 - 127);
  std::iota(bias.begin(), bias.end(), 1000000);
  gemm({},
       {.a = {a.data(), DType::I8, {33, 70}},
        .b = {b.data(), DType::I8, {70, 45}},
        .out = {out.data(), DType::I32, {33, 45}},
        .bias = TensorView(bias.data(), DType::I32, {45})},
       "host");
  for (std::size_t i = 0; i < 33; ++i)
    for (std::size_t j = 0; j < 45; ++j) {
      std::int32_t want = bias[j];
      for (std::size_t p = 0; p < 70; ++p) want += a[i * 70 + p] * b[p * 45 + j];
      ASSERT_EQ(out[i * 45 + j], want) << i << " " << j;
    }
}

TEST(Library, LeadingDimensionsAreSeenAsOne) {
  std::vector<float> x(2 * 3 * 4 * 10), out(x.size());
  std::iota(x.begin(), x.end(), 0.0f);
  softmax({}, {x.data(), DType::F32, {2, 3, 4, 10}}, {out.data(), DType::F32, {2, 3, 4, 10}}, "host");
  for (std::size_t row = 0; row < 24; ++row)
    EXPECT_NEAR(std::accumulate(out.begin() + static_cast<std::ptrdiff_t>(10 * row),
                                out.begin() + static_cast<std::ptrdiff_t>(10 * row + 10), 0.0f),
                1, 1e-6);
  softmax({}, {x.data(), DType::F32, {10}}, {out.data(), DType::F32, {10}}, "host");
}

TEST(Library, WrongOperandsAreNamed) {
  std::vector<float> memory(4000);
  auto at = [&](std::int64_t offset, std::initializer_list<std::int64_t> shape) {
    return TensorView(memory.data() + offset, DType::F32, shape);
  };
  const TensorView a = at(0, {10, 20}), b = at(1000, {20, 30}), out = at(2000, {10, 30});
  auto gemmError = [](const GemmArgs& args) { return refusal([&] { gemm({}, args, "host"); }); };
  EXPECT_EQ(gemmError({.a = a, .b = b, .out = out}), "no error");
  EXPECT_EQ(gemmError({.a = a, .b = at(1000, {21, 30}), .out = out}), "b: dimension 0 is 21; it must be 20 as the columns of a");
  EXPECT_EQ(gemmError({.a = a, .b = b, .out = at(2000, {10, 31})}), "out: dimension 1 is 31; it must be 30 as in a and b");
  EXPECT_EQ(gemmError({.a = a, .b = b, .out = out, .bias = at(3000, {29})}), "bias: dimension 0 is 29; it must be 30 as the columns of b");
  EXPECT_EQ(gemmError({.a = a, .b = b, .out = at(5, {10, 30})}),
            "out: it shares memory with a, and launches read and write in no particular order");
  EXPECT_EQ(gemmError({.a = {memory.data(), DType::F32, {10, 20}, {60, 3}}, .b = b, .out = out}),
            "a: f32 [10, 20] strides [60, 3] has neither rows nor columns whose elements lie side by side");
  EXPECT_EQ(gemmError({.a = {memory.data(), DType::I32, {10, 20}},
                       .b = {memory.data(), DType::I32, {20, 30}},
                       .out = {memory.data() + 2000, DType::I32, {10, 30}}}),
            "gemm: dtype is i32; it must be f32, f16, bf16 or i8");
  auto softmaxError = [](const TensorView& x, const TensorView& y) { return refusal([&] { softmax({}, x, y, "host"); }); };
  EXPECT_EQ(softmaxError(a, at(2000, {10, 21})), "out: dimension 1 is 21; it must be 20 as in x (dimensions before the last seen as one)");
  EXPECT_EQ(softmaxError(a, at(10, {10, 20})), "out: it shares memory with x, and launches read and write in no particular order");
  EXPECT_EQ(softmaxError(at(0, {2, 3, 4}).transposed(0, 1), at(2000, {3, 2, 4})),
            "x: f32 [3, 2, 4] strides [4, 12, 1] has leading dimensions that cannot be seen as one");
  EXPECT_EQ(refusal([&] { rms_norm({}, {.x = a, .out = at(2000, {10, 20}), .bias = at(0, {20})}, "host"); }), "bias: rms_norm has none");
}

TEST(Library, EmptyOperandsAreLeftAlone) {
  gemm({}, {.a = {nullptr, DType::F32, {0, 20}}, .b = {nullptr, DType::F32, {20, 0}}, .out = {nullptr, DType::F32, {0, 0}}}, "host");
  softmax({}, {nullptr, DType::F32, {0, 20}}, {nullptr, DType::F32, {0, 20}}, "host");
  softmax({}, {nullptr, DType::F32, {20, 0}}, {nullptr, DType::F32, {20, 0}}, "host");
}

TEST(Library, ALaterCallAllocatesNothing) {
  std::vector<float> x(640), out(640);
  const TensorView from(x.data(), DType::F32, {10, 64}), to(out.data(), DType::F32, {10, 64});
  softmax({}, from, to, "host");
  rms_norm({}, {.x = from, .out = to}, "host");
  const long before = test::allocations();
  softmax({}, from, to, "host");
  rms_norm({}, {.x = from, .out = to}, "host");
  EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace fattn
