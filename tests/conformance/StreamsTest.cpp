// SPDX-License-Identifier: Apache-2.0
// Streams: each in order, beside the others.
#include <thread>
#include <vector>

#include "tests/conformance/Programs.h"

namespace fattn::conformance {
namespace {

using Numbers = std::vector<std::int32_t>;
constexpr std::size_t kLength = 130;

Numbers counting(std::int32_t first) {
  Numbers numbers(kLength);
  for (std::size_t i = 0; i < kLength; ++i) numbers[i] = first + static_cast<std::int32_t>(i);
  return numbers;
}

Numbers stepped(Numbers numbers, int launches) {
  for (std::int32_t& number : numbers) number = conformance::stepped(number, launches);
  return numbers;
}

/// Each piece of work needs the one before it, and nothing waits in between.
void expectOrder(Device& device, const TileKernel& kernel, Stream stream) {
  const Array<std::int32_t> x(device, kLength), y(device, kLength);
  const Numbers first = counting(1);
  Numbers zeros(kLength, -1), result(kLength, -1), again(kLength, -1);
  device.copy(x.data(), first.data(), x.bytes(), stream);
  for (int i = 0; i < 3; ++i) launchStep(kernel, x, stream);
  device.copy(y.data(), x.data(), x.bytes(), stream);
  device.fill(x.data(), 0, x.bytes(), stream);
  launchStep(kernel, y, stream);
  device.copy(result.data(), y.data(), y.bytes(), stream);
  device.copy(zeros.data(), x.data(), x.bytes(), stream);
  launchStep(kernel, x, stream);
  device.copy(y.data(), x.data(), x.bytes(), stream);
  device.copy(again.data(), y.data(), y.bytes(), stream);
  device.synchronize(stream);
  EXPECT_EQ(result, stepped(first, 4));
  EXPECT_EQ(zeros, Numbers(kLength, 0));
  EXPECT_EQ(again, Numbers(kLength, 1));
}

TEST_P(Conformance, WorkOfAStreamIsDoneInOrder) {
  const TileKernel kernel = compile(step(), {.target = target()});
  expectOrder(device(), kernel, {});
  const OwnStream stream(device());
  expectOrder(device(), kernel, stream);
}

TEST_P(Conformance, StreamsComeAndGo) {
  const TileKernel kernel = compile(step(), {.target = target()});
  for (int i = 0; i < 4; ++i) {
    const OwnStream one(device()), two(device());
    expectOrder(device(), kernel, one);
    expectOrder(device(), kernel, two);
  }
  device().destroyStream({});
  expectOrder(device(), kernel, {});
}

TEST_P(Conformance, TwoStreamsTakeTurnsOnOneKernel) {
  const TileKernel kernel = compile(step(), {.target = target()});
  const Array<std::int32_t> x(device(), counting(1)), y(device(), counting(1000));
  Numbers resultX(kLength), resultY(kLength);
  const OwnStream one(device()), two(device());
  for (int i = 0; i < 6; ++i) {
    launchStep(kernel, x, one);
    if (i % 2 == 0) launchStep(kernel, y, two);
  }
  device().copy(resultX.data(), x.data(), x.bytes(), one);
  device().copy(resultY.data(), y.data(), y.bytes(), two);
  device().synchronize(two);
  EXPECT_EQ(resultY, stepped(counting(1000), 3));
  device().synchronize(one);
  EXPECT_EQ(resultX, stepped(counting(1), 6));
}

TEST_P(Conformance, ThreadsCompileOneProgramAtOnce) {
  std::vector<Numbers> results(4);
  {
    std::vector<std::jthread> threads;
    for (Numbers& result : results)
      threads.emplace_back([&] {
        const TileKernel kernel = compile(step(), {.target = target()});
        const Array<std::int32_t> x(device(), counting(7));
        launchStep(kernel, x, {});
        result = x.read();
      });
  }
  for (const Numbers& result : results) EXPECT_EQ(result, stepped(counting(7), 1));
}

TEST_P(Conformance, ThreadsLaunchOneKernelAtOnce) {
  const TileKernel kernel = compile(step(), {.target = target()});
  std::vector<Numbers> results(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < results.size(); ++t)
      threads.emplace_back([&, t] {
        const OwnStream stream(device());
        const Array<std::int32_t> x(device(), counting(static_cast<std::int32_t>(100 * t)));
        for (int i = 0; i < 8; ++i) launchStep(kernel, x, stream);
        device().synchronize(stream);
        results[t] = x.read();
      });
  }
  for (std::size_t t = 0; t < results.size(); ++t) EXPECT_EQ(results[t], stepped(counting(static_cast<std::int32_t>(100 * t)), 8)) << t;
}

}  // namespace
}  // namespace fattn::conformance
