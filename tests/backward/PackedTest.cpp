// SPDX-License-Identifier: Apache-2.0
#include "tests/backward/PackedTest.h"

#include <algorithm>

namespace fattn::backward {

void PackedBackward::expectRight(PackedShape shape) {
  shape.dtype = dtype();
  Device& device = openDevice(target());
  // Copy engines read rows behind a sequence, too: those have to be numbers.
  if (device.kind() == DeviceKind::Cuda) shape.unowned = 7;
  for (const bool deterministic : {true, false}) {
    if (!deterministic && device.kind() == DeviceKind::Host) continue;  // has one mode only
    PackedData data(shape);
    const BackwardKernel kernel = compile(data.config(target(), deterministic));
    withMemory(data.memory(), [&](std::byte* base) {
      PackedBackwardArgs args = data.at(base);
      args.max_q = *std::ranges::max_element(shape.queries), args.max_k = *std::ranges::max_element(shape.keys);
      kernel.launchPacked({}, args);
    });
    EXPECT_EQ(data.verdict(), "") << (deterministic ? "deterministic" : "fast") << (shape.causal ? " causal" : "");
  }
}

TEST_P(PackedBackward, OfAnyLengthsAgreesWithFloat64) {
  for (const bool causal : {false, true})
    expectRight({.dim = 32, .dimV = 32, .queries = {5, 0, 70, 1, 33, 200}, .keys = {9, 4, 70, 0, 20, 201}, .causal = causal});
}

TEST_P(PackedBackward, OfUnequalWidthsAndOneHeadAgreesWithFloat64) {
  expectRight({.headsQ = 3, .headsKv = 1, .dim = 40, .dimV = 72, .queries = {17, 65}, .keys = {90, 64}, .causal = true, .spare = 0});
}

TEST_P(PackedBackward, OfEveryDefaultAgreesWithFloat64) {
  for (const std::int64_t width : {64, 128, 256})
    for (const bool causal : {false, true})
      expectRight({.headsQ = 2,
                   .headsKv = 1,
                   .dim = width,
                   .dimV = width,
                   .queries = {130, 3, 60},
                   .keys = {129, 65, 60},
                   .causal = causal,
                   .hasDlse = width == 64});
}

TEST_P(PackedBackward, OfRowsThatSeeNoKeyIsZero) {
  expectRight({.queries = {140, 20}, .keys = {3, 0}, .causal = true});
  expectRight({.queries = {0, 0}, .keys = {40, 3}});
}

}  // namespace fattn::backward
