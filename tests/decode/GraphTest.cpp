// SPDX-License-Identifier: Apache-2.0
// Decode in CUDA graphs and on several streams: captured once, replayed with other lengths, pages and rows to append; two launches, and two
// replays, at the same time. Skipped, with the reason, where there is no NVIDIA GPU.
#include <gtest/gtest.h>

#include <memory>

#include "tests/decode/DecodeData.h"
#include "tests/support/CudaGraphs.h"

namespace fattn::decode {
namespace {

class DecodeGraphs : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = &openDevice("cuda");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    if (!graphs_.known()) GTEST_SKIP() << "this driver is too old for graphs";
    graphs_.enter();
  }

  /// A copy of some operands on the device, which launches read and write.
  std::shared_ptr<std::byte> put(DecodeData& data) {
    std::shared_ptr<std::byte> memory(static_cast<std::byte*>(device_->allocate(data.memory().size())),
                                      [device = device_](std::byte* held) { device->free(held); });
    device_->copy(memory.get(), data.memory().data(), data.memory().size());
    device_->synchronize();
    return memory;
  }

  DecodeArgs args(const DecodeData& data, std::byte* base, int splits) {
    DecodeArgs args = data.at(base);
    args.splits = splits;
    return args;
  }

  void expectRight(DecodeData& data, const std::byte* memory, const std::string& what) {
    device_->copy(data.memory().data(), memory, data.memory().size());
    device_->synchronize();
    EXPECT_LE(data.errors().o, data.tolerance().o) << what;
    EXPECT_LE(data.errors().lse, data.tolerance().lse) << what;
  }

  Device* device_ = nullptr;
  test::CudaGraphs graphs_;
};

enum class Kind : std::uint8_t { Two, One, TwoSettled };

DecodeShape shapeOf(std::int64_t page, std::vector<std::int32_t> lengths, Kind kind) {
  return {.dtype = DType::BF16,
          .headsQ = 8,
          .headsKv = 2,
          .queries = 2,
          .dim = 64,
          .dimV = 64,
          .lengths = std::move(lengths),
          .capacity = 320,
          .causal = true,
          .pageSize = page,
          .window = page == 0 ? 0 : 70,
          .appended = 2,
          .balanced = kind == Kind::One,
          .settled = kind == Kind::TwoSettled};
}

/// With two launches, of which the first may read the cache before the one in front has ended, or with one that counts the programs of a
/// sequence.
class BothDecodeGraphs : public DecodeGraphs, public testing::WithParamInterface<Kind> {};

TEST_P(BothDecodeGraphs, ReplayWithNewLengthsPagesAndRows) {
  for (const std::int64_t page : {0, 16, 5}) {
    DecodeData first(shapeOf(page, {17, 0, 200, 64}, GetParam()));
    const DecodeKernel kernel = compile(first.config("cuda"));
    const std::shared_ptr<std::byte> memory = put(first);
    const std::shared_ptr<void> held = test::heldStream(*device_);
    const Stream on{.native = held.get()};
    const std::shared_ptr<void> graph = graphs_.captured(on, [&] { kernel.launch(on, args(first, memory.get(), 3)); });
    std::uint64_t seed = 1;
    for (const std::vector<std::int32_t>& lengths :
         {std::vector{17, 0, 200, 64}, {18, 1, 201, 65}, {320, 319, 2, 100}, {0, 0, 0, 0}, {5, 300, 256, 17}}) {
      DecodeData data(shapeOf(page, lengths, GetParam()), seed++);
      ASSERT_EQ(data.memory().size(), first.memory().size());
      device_->copy(memory.get(), data.memory().data(), data.memory().size());
      device_->synchronize();
      ASSERT_EQ(graphs_.launch(graph, on), 0);
      device_->synchronize(on);
      expectRight(data, memory.get(), "page_size " + std::to_string(page) + ", replay " + std::to_string(seed));
    }
  }
}

TEST_P(BothDecodeGraphs, TwoStreamsAtOnceDoNotDisturbEachOther) {
  DecodeData one(shapeOf(16, {17, 0, 200, 64}, GetParam()), 1), two(shapeOf(16, {300, 20, 64, 1}, GetParam()), 2);
  const DecodeKernel kernel = compile(one.config("cuda"));
  const std::shared_ptr<std::byte> ofOne = put(one), ofTwo = put(two);
  const std::shared_ptr<void> left = test::heldStream(*device_), right = test::heldStream(*device_);
  for (int i = 0; i < 20; ++i) {
    kernel.launch({.native = left.get()}, args(one, ofOne.get(), 4));
    kernel.launch({.native = right.get()}, args(two, ofTwo.get(), 4));
  }
  device_->synchronize({.native = left.get()});
  device_->synchronize({.native = right.get()});
  expectRight(one, ofOne.get(), "one");
  expectRight(two, ofTwo.get(), "two");
}

TEST_P(BothDecodeGraphs, TwoReplaysAtOnceDoNotDisturbEachOther) {
  DecodeData one(shapeOf(0, {17, 0, 200, 64}, GetParam()), 1), two(shapeOf(0, {300, 20, 64, 1}, GetParam()), 2);
  const DecodeKernel kernel = compile(one.config("cuda"));
  const std::shared_ptr<std::byte> ofOne = put(one), ofTwo = put(two);
  const std::shared_ptr<void> left = test::heldStream(*device_), right = test::heldStream(*device_);
  auto repeated = [&](void* on, const DecodeData& data, std::byte* base) {
    return graphs_.captured({.native = on}, [&] {
      for (int i = 0; i < 10; ++i) kernel.launch({.native = on}, args(data, base, 4));
    });
  };
  const std::shared_ptr<void> ofLeft = repeated(left.get(), one, ofOne.get()), ofRight = repeated(right.get(), two, ofTwo.get());
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(graphs_.launch(ofLeft, {.native = left.get()}), 0);
    ASSERT_EQ(graphs_.launch(ofRight, {.native = right.get()}), 0);
  }
  device_->synchronize({.native = left.get()});
  device_->synchronize({.native = right.get()});
  expectRight(one, ofOne.get(), "one");
  expectRight(two, ofTwo.get(), "two");
}

INSTANTIATE_TEST_SUITE_P(Launches, BothDecodeGraphs, testing::Values(Kind::Two, Kind::One, Kind::TwoSettled), [](const auto& info) {
  return info.param == Kind::One ? "One" : info.param == Kind::Two ? "Two" : "TwoSettled";
});

}  // namespace
}  // namespace fattn::decode
