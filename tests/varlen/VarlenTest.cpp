// SPDX-License-Identifier: Apache-2.0
#include "tests/varlen/VarlenTest.h"

#include <algorithm>
#include <functional>
#include <memory>

namespace fattn::varlen {

std::string deviceCaseName(const testing::TestParamInfo<DeviceCase>& info) {
  std::string text = info.param.first + "_" + std::string(name(info.param.second));
  std::ranges::replace(text, ':', '_');
  return text;
}

void PackedSequences::SetUp() try { openDevice(GetParam().first); } catch (const Error& error) {
  GTEST_SKIP() << error.what();
}

void PackedSequences::expectRight(VarlenShape shape, std::optional<std::int64_t> max_q) {
  shape.dtype = GetParam().second;
  VarlenData data(shape);
  const VarlenKernel kernel = compile(data.config(GetParam().first));
  Device& device = openDevice(GetParam().first);
  const bool isHost = device.kind() == DeviceKind::Host;
  const std::unique_ptr<void, std::function<void(void*)>> owned(isHost ? nullptr : device.allocate(data.memory().size()),
                                                                [&](void* memory) { device.free(memory); });
  auto* base = isHost ? data.memory().data() : static_cast<std::byte*>(owned.get());
  if (!isHost) device.copy(base, data.memory().data(), data.memory().size());
  VarlenArgs args = data.at(base);
  args.max_q = max_q;
  kernel.launch({}, args);
  if (!isHost) device.copy(data.memory().data(), base, data.memory().size());
  device.synchronize();
  const auto [o, lse] = data.errors(max_q.value_or(1 << 30));
  EXPECT_LE(o, data.tolerance().o) << "causal " << shape.causal;
  EXPECT_LE(lse, data.tolerance().lse) << "causal " << shape.causal;
}

TEST_P(PackedSequences, OfAnyLengthsAgreeWithFloat64) {
  for (const bool causal : {false, true})
    expectRight({.queries = {5, 0, 70, 1, 33, 150}, .keys = {9, 4, 70, 0, 20, 151}, .causal = causal});
}

TEST_P(PackedSequences, UnequalWidthsAndOneHead) {
  expectRight({.headsQ = 3, .headsKv = 1, .dim = 40, .dimV = 72, .queries = {17, 65}, .keys = {90, 64}, .causal = true, .spare = 0});
}

TEST_P(PackedSequences, RowsBeyondTheMostAreNotComputed) {
  // As many as whole blocks of every configuration have.
  expectRight({.dim = 64, .dimV = 64, .queries = {300, 20, 256}, .keys = {60, 20, 1}}, 256);
}

TEST_P(PackedSequences, NeighboursThatAreNoNumbersChangeNothing) {
  for (const bool causal : {false, true})
    expectRight({.dim = 64, .dimV = 64, .queries = {70, 5, 33, 9, 20}, .keys = {70, 9, 90, 50, 1}, .causal = causal, .wild = true});
}

TEST_P(PackedSequences, MayReplaceTheirQueries) {
  expectRight({.queries = {5, 100, 31}, .keys = {9, 80, 31}, .causal = true, .inPlace = true});
}

}  // namespace fattn::varlen
