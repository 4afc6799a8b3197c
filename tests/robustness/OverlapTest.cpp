// SPDX-License-Identifier: Apache-2.0
// Operands that share memory: what would corrupt results is refused, interleaved layouts and NumPy's empty tensors are not.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "fattn/Overlap.h"
#include "kernels/attention/AttentionLaunch.h"
#include "kernels/attention/AttentionSupport.h"
#include "tests/robustness/Attack.h"

namespace fattn {
namespace {

// B 2, H 4, S 10, D 16.
struct Operands {
  static constexpr std::int64_t kBatch = 2, kHeads = 4, kLength = 10, kDim = 16, kSize = kBatch * kHeads * kLength * kDim;
  std::vector<float> memory = std::vector<float>(static_cast<std::size_t>(8 * kSize));
  AttentionArgs args{.q = at(0), .k = at(kSize), .v = at(2 * kSize), .o = at(3 * kSize), .lse = lseAt(4 * kSize)};

  TensorView at(std::int64_t offset) { return {memory.data() + offset, DType::F32, {kBatch, kHeads, kLength, kDim}}; }
  TensorView lseAt(std::int64_t offset) { return {memory.data() + offset, DType::F32, {kBatch, kHeads, kLength}}; }
  std::string refusal() const try {
    kernels::checkOperands({.dtype = DType::F32, .head_dim = kDim, .head_dim_v = kDim}, args);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.constraint();
  }
};

std::string sharing(const std::string& output, const std::string& input) {
  return output + ": it shares memory with " + input + ", and launches read and write in no particular order";
}

TEST(Overlaps, WhatCorruptsIsRefusedWithASentence) {
  Operands x;
  EXPECT_EQ(x.refusal(), "");
  x.args.o = x.args.k;
  EXPECT_EQ(x.refusal(), sharing("o", "k"));
  x.args.o = x.at(3 * Operands::kSize - 1);
  EXPECT_EQ(x.refusal(), sharing("o", "v"));
  x.args.o = x.at(Operands::kDim);
  x.args.k = x.args.v = x.at(6 * Operands::kSize);
  EXPECT_EQ(x.refusal(), sharing("o", "q")) << "shifted by a row";
  x.args.o = x.args.q.transposed(0, 1);
  x.args.o.shape = x.args.q.shape;
  x.args.o.strides[0] = x.args.q.strides[1];
  x.args.o.strides[1] = 2 * x.args.q.strides[1];
  EXPECT_EQ(x.refusal(), sharing("o", "q")) << "the same memory in another order";
  x.args.o = x.at(3 * Operands::kSize);
  x.args.lse = x.lseAt(3 * Operands::kSize + 5);
  EXPECT_EQ(x.refusal(), sharing("lse", "o"));
  x.args.lse = x.lseAt(5);
  EXPECT_EQ(x.refusal(), sharing("lse", "q"));
}

TEST(Overlaps, WhatDoesNotCorruptIsTaken) {
  Operands x;
  x.args.o = x.args.q;
  EXPECT_EQ(x.refusal(), "") << "each program writes the rows that it has read";
  x.args.q = x.args.k = x.args.v = x.at(0);
  x.args.o = x.at(Operands::kSize);
  EXPECT_EQ(x.refusal(), "") << "inputs may share";
  // One buffer [B, S, 4, H, D] of q, k, v and o.
  const std::int64_t row = Operands::kHeads * Operands::kDim, rows = 4 * row;
  const auto packed = [&](std::int64_t which) {
    return TensorView(x.memory.data() + which * row, DType::F32, {Operands::kBatch, Operands::kHeads, Operands::kLength, Operands::kDim},
                      {Operands::kLength * rows, Operands::kDim, rows, 1});
  };
  x.args = {.q = packed(0), .k = packed(1), .v = packed(2), .o = packed(3), .lse = x.lseAt(5 * Operands::kSize)};
  EXPECT_EQ(x.refusal(), "");
  x.args.o = packed(2);
  EXPECT_EQ(x.refusal(), sharing("o", "v"));
}

// Every byte of every element.
std::set<std::uintptr_t> bytesOf(const TensorView& view) {
  std::set<std::uintptr_t> bytes;
  std::array<std::int64_t, TensorView::kMaxRank> index{};
  if (view.elements() == 0) return bytes;
  for (;;) {
    std::int64_t offset = 0;
    for (int d = 0; d < view.rank; ++d) offset += index[static_cast<std::size_t>(d)] * view.strides[static_cast<std::size_t>(d)];
    const auto at = reinterpret_cast<std::uintptr_t>(view.data) + static_cast<std::uintptr_t>(offset * sizeInBytes(view.dtype));
    for (std::int64_t b = 0; b < sizeInBytes(view.dtype); ++b) bytes.insert(at + static_cast<std::uintptr_t>(b));
    int d = 0;
    while (d < view.rank && ++index[static_cast<std::size_t>(d)] == view.shape[static_cast<std::size_t>(d)])
      index[static_cast<std::size_t>(d++)] = 0;
    if (d == view.rank) return bytes;
  }
}

TEST(Overlaps, TwentyThousandRandomPairsAgreeWithEveryByte) {
  std::minstd_rand random = test::seeded(5);
  const auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
  const auto view = [&] {
    const DType dtype = below(2) != 0 ? DType::F32 : DType::F16;
    TensorView v(reinterpret_cast<void*>(4096 + 2 * below(120)), dtype, {1, 1, 1});
    for (int d = 0; d < 3; ++d) {
      v.shape[d] = below(5);
      v.strides[d] = below(4) == 0 ? below(60) : 1 + below(8) * (d == 0 ? 6 : d == 1 ? 2 : 0);
    }
    return v;
  };
  int shared = 0;
  for (int i = 0; i < 20000; ++i) {
    const TensorView a = view(), b = view();
    const std::set<std::uintptr_t> bytes = bytesOf(a);
    bool expected = false;
    for (std::uintptr_t byte : bytesOf(b)) expected |= bytes.contains(byte);
    ASSERT_EQ(shareMemory(a, a.checkedBytes(), b, b.checkedBytes()), expected) << a.toString() << " and " << b.toString();
    shared += expected ? 1 : 0;
  }
  EXPECT_GT(shared, 2000);
  EXPECT_LT(shared, 18000);
}

TEST(EmptyTensors, AreTakenWithTheStridesThatNumPyGivesThem) {
  Operands x;
  for (TensorView* view : {&x.args.k, &x.args.v}) {
    view->shape[2] = 0;
    view->strides = {0, 0, 0, 0};
  }
  EXPECT_EQ(x.refusal(), "");
  for (TensorView* view : {&x.args.q, &x.args.o, &*x.args.lse}) {
    view->shape[2] = 0;
    view->strides = {0, 0, 0, 0};
    view->data = nullptr;
  }
  EXPECT_EQ(x.refusal(), "");
}

}  // namespace
}  // namespace fattn
