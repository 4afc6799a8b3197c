// SPDX-License-Identifier: Apache-2.0
// Blocks that are handed their programs while the kernel runs (`dynamic` in a schedule): launches share no counter where they may run at
// once, and leave it as they found it. A program computes the same whoever takes it, so that outputs are compared bit by bit with those of
// one program a block. Skipped, with the reason, where there is no GPU with warp groups.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "fattn/Attention.h"
#include "tests/support/CudaGraphs.h"

namespace fattn::numerics {
namespace {

constexpr std::int64_t kDynamicHeads = 24, kDynamicDim = 64;

/// Operands of a launch on the device: q, k, v and o, [batch, heads, rows, columns] each, bf16.
class DynamicOperands {
 public:
  DynamicOperands(Device& device, std::int64_t batch, std::int64_t rows, unsigned seed)
      : device_(device), batch_(batch), rows_(rows), host_(static_cast<std::size_t>(batch * kDynamicHeads * rows * kDynamicDim)) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int i = 0; i < 4; ++i) {
      memory_.emplace_back(device.allocate(bytes()), [&device](void* held) { device.free(held); });
      for (std::uint16_t& value : host_) {
        const float number = normal(random);
        std::uint32_t bits = 0;
        std::memcpy(&bits, &number, sizeof(bits));
        value = static_cast<std::uint16_t>(bits >> 16);
      }
      device.copy(memory_.back().get(), host_.data(), bytes());
      device.synchronize();
    }
  }

  AttentionArgs args() const { return {.q = view(0), .k = view(1), .v = view(2), .o = view(3)}; }
  void poison(Stream stream) { device_.fill(memory_[3].get(), 0xff, bytes(), stream); }
  std::vector<std::uint16_t> result() {
    device_.copy(host_.data(), memory_[3].get(), bytes());
    device_.synchronize();
    return host_;
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(std::uint16_t); }
  TensorView view(std::size_t which) const { return {memory_[which].get(), DType::BF16, {batch_, kDynamicHeads, rows_, kDynamicDim}}; }

  Device& device_;
  std::int64_t batch_, rows_;
  std::vector<std::uint16_t> host_;
  std::vector<std::shared_ptr<void>> memory_;
};

class DynamicPrograms : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = &openDevice("cuda");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    if (device_->chip() != "nvidia:sm_90") GTEST_SKIP() << device_->chip() << " has no warp groups";
    kernel_ = compile(config("A B1 a b dynamic"));
    plain_ = compile(config("A B1 a b"));
  }

  static AttentionConfig config(const std::string& schedule) {
    return {.dtype = DType::BF16,
            .head_dim = kDynamicDim,
            .causal = true,
            .target = "cuda",
            .tile = TileConfig{.block_m = 128, .block_n = 64, .stages = 2, .warps = 8, .schedule = schedule}};
  }

  std::vector<std::uint16_t> expected(DynamicOperands& operands) {
    operands.poison({});
    plain_.launch({}, operands.args());
    return operands.result();
  }
  void launch(DynamicOperands& operands, Stream stream) {
    operands.poison(stream);
    kernel_.launch(stream, operands.args());
  }

  Device* device_ = nullptr;
  Kernel kernel_, plain_;
};

/// Fewer programs than blocks fit, about as many, and many more; each several times, as the counter goes from launch to launch.
TEST_F(DynamicPrograms, OneLaunchAfterAnother) {
  for (const auto [batch, rows] : {std::pair(1, 300), std::pair(2, 330), std::pair(3, 257), std::pair(4, 1500)}) {
    DynamicOperands operands(*device_, batch, rows, 1);
    const std::vector<std::uint16_t> right = expected(operands);
    for (int i = 0; i < 5; ++i) {
      launch(operands, {});
      EXPECT_TRUE(operands.result() == right) << batch << " x " << rows << ", launch " << i;
    }
  }
}

TEST_F(DynamicPrograms, TwoStreamsAtOnce) {
  DynamicOperands one(*device_, 2, 1100, 1), two(*device_, 3, 700, 2);
  const std::vector<std::uint16_t> rightOne = expected(one), rightTwo = expected(two);
  const std::shared_ptr<void> left = test::heldStream(*device_), right = test::heldStream(*device_);
  for (int i = 0; i < 50; ++i) launch(one, {.native = left.get()}), launch(two, {.native = right.get()});
  device_->synchronize({.native = left.get()});
  device_->synchronize({.native = right.get()});
  EXPECT_TRUE(one.result() == rightOne);
  EXPECT_TRUE(two.result() == rightTwo);
}

TEST_F(DynamicPrograms, TwoReplaysAtOnce) {
  test::CudaGraphs graphs;
  if (!graphs.known()) GTEST_SKIP() << "this driver is too old for graphs";
  graphs.enter();
  DynamicOperands one(*device_, 2, 1100, 1), two(*device_, 3, 700, 2);
  const std::vector<std::uint16_t> rightOne = expected(one), rightTwo = expected(two);
  const std::shared_ptr<void> left = test::heldStream(*device_), right = test::heldStream(*device_);
  const auto repeated = [&](const std::shared_ptr<void>& on, DynamicOperands& operands) {
    return graphs.captured({.native = on.get()}, [&] {
      for (int i = 0; i < 10; ++i) launch(operands, {.native = on.get()});
    });
  };
  const std::shared_ptr<void> ofOne = repeated(left, one), ofTwo = repeated(right, two);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(graphs.launch(ofOne, {.native = left.get()}), 0);
    ASSERT_EQ(graphs.launch(ofTwo, {.native = right.get()}), 0);
  }
  device_->synchronize({.native = left.get()});
  device_->synchronize({.native = right.get()});
  EXPECT_TRUE(one.result() == rightOne);
  EXPECT_TRUE(two.result() == rightTwo);
}

/// More launches than there are counters, in one graph: the last ones share their programs out evenly. With the graph its counters come
/// back.
TEST_F(DynamicPrograms, MoreCapturedLaunchesThanCounters) {
  constexpr int kMoreThanThereAre = 9000;
  test::CudaGraphs graphs;
  if (!graphs.known()) GTEST_SKIP() << "this driver is too old for graphs";
  graphs.enter();
  DynamicOperands operands(*device_, 2, 330, 3);
  const std::vector<std::uint16_t> right = expected(operands);
  const std::shared_ptr<void> stream = test::heldStream(*device_);
  const Stream on{.native = stream.get()};
  for (int round = 0; round < 2; ++round) {
    const std::shared_ptr<void> graph = graphs.captured(on, [&] {
      for (int i = 1; i < kMoreThanThereAre; ++i) kernel_.launch(on, operands.args());
      launch(operands, on);
    });
    ASSERT_EQ(graphs.launch(graph, on), 0);
    device_->synchronize(on);
    EXPECT_TRUE(operands.result() == right) << "round " << round;
  }
  launch(operands, on);
  device_->synchronize(on);
  EXPECT_TRUE(operands.result() == right);
}

}  // namespace
}  // namespace fattn::numerics
