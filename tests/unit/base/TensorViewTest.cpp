// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "fattn/Error.h"
#include "fattn/TensorView.h"

namespace fattn {
namespace {

TEST(TensorView, RowMajorStrides) {
  float data[1] = {};
  TensorView view(data, DType::F32, {2, 3, 5, 7});
  EXPECT_EQ(view.toString(), "f32 [2, 3, 5, 7] strides [105, 35, 7, 1]");
  EXPECT_EQ(view.elements(), 210);
  EXPECT_EQ(view.checkedBytes(), 840);
}

TEST(TensorView, TransposedSharesTheMemory) {
  TensorView view = TensorView(nullptr, DType::BF16, {2, 5, 3, 7}).transposed(1, 2);
  EXPECT_EQ(view.toString(), "bf16 [2, 3, 5, 7] strides [105, 7, 21, 1]");
}

TEST(TensorView, NarrowedMovesThePointer) {
  std::vector<std::int32_t> data(60);
  TensorView view = TensorView(data.data(), DType::I32, {3, 4, 5}).narrowed(1, 2, 2);
  EXPECT_EQ(view.data, data.data() + 10);
  EXPECT_EQ(view.toString(), "i32 [3, 2, 5] strides [20, 5, 1]");
  EXPECT_EQ(view.checkedBytes(), (2 * 20 + 5 + 4 + 1) * 4);
}

TEST(TensorView, BytesOfEmptyAndAbsurdShapes) {
  EXPECT_EQ(TensorView(nullptr, DType::F32, {0, 8}).checkedBytes(), 0);
  EXPECT_EQ(TensorView(nullptr, DType::F32, {-1, 8}).checkedBytes(), -1);
  EXPECT_EQ(TensorView(nullptr, DType::F32, {INT64_MAX, INT64_MAX}).checkedBytes(), -1);
  EXPECT_EQ(TensorView(nullptr, DType::F32, {2, 2}, {INT64_MIN, 1}).checkedBytes(), -1);
  EXPECT_EQ(TensorView(nullptr, DType::F32, {INT64_MAX / 2}).checkedBytes(), -1) << "fits in elements, not in bytes";
}

template <typename Function>
std::string messageThrownBy(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TensorView, RefusesWhatIsNoView) {
  TensorView view(nullptr, DType::F32, {4, 8});
  EXPECT_EQ(messageThrownBy([&] { TensorView(nullptr, DType::F32, {1, 2}, {1}); }),
            "tensor view: shape [1, 2] and strides [1] differ in length");
  EXPECT_EQ(messageThrownBy([&] { TensorView(nullptr, DType::F32, {1, 1, 1, 1, 1, 1, 1}); }),
            "tensor view: rank 7 of shape [1, 1, 1, 1, 1, 1, 1]\n  hint: the largest rank is 6");
  EXPECT_EQ(messageThrownBy([&] { (void)view.transposed(0, 2); }),
            "tensor view: dimension 2 of a tensor of rank 2\n  hint: legal dimensions are 0 to 1");
  EXPECT_EQ(messageThrownBy([&] { (void)view.narrowed(1, 4, 5); }),
            "tensor view: entries 4 to 4+5 of dimension 1 of shape [4, 8]\n  hint: a slice lies within 0 to 8");
}

}  // namespace
}  // namespace fattn
