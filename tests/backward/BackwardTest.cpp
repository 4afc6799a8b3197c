// SPDX-License-Identifier: Apache-2.0
#include "tests/backward/BackwardTest.h"

#include <algorithm>
#include <memory>

namespace fattn::backward {

BackwardConfig configOf(const BackwardShape& shape, const std::string& target, bool deterministic) {
  return {.dtype = shape.dtype,
          .head_dim = shape.dim,
          .head_dim_v = shape.dimV,
          .causal = shape.causal,
          .deterministic = deterministic,
          .target = target,
          // Told a tile, GPUs add dQ up also where that is the slower mode.
          .tile = deterministic ? std::nullopt : std::optional(TileConfig{})};
}

BackwardArgs argsOf(const BackwardData& data, std::byte* base) {
  const auto& [q, k, v, o, dout, lse, dlse, dq, dk, dv] = data.at(base);
  BackwardArgs args{.q = q, .k = k, .v = v, .o = o, .lse = lse, .dout = dout, .dq = dq, .dk = dk, .dv = dv};
  if (data.shape().hasDlse) args.dlse = dlse;
  args.workspace = data.workspace(base), args.workspace_bytes = data.workspaceBytes();
  return args;
}

std::string backwardCaseName(const testing::TestParamInfo<BackwardCase>& info) {
  std::string text = std::get<0>(info.param) + "_" + std::string(name(std::get<1>(info.param)));
  std::ranges::replace(text, ':', '_');
  return text;
}

void BackwardOnDevice::SetUp() try { openDevice(target()); } catch (const Error& error) {
  GTEST_SKIP() << error.what();
}

void BackwardOnDevice::withMemory(std::vector<std::byte>& memory, const std::function<void(std::byte*)>& launch) {
  Device& device = openDevice(target());
  const bool isHost = device.kind() == DeviceKind::Host;
  const std::unique_ptr<void, std::function<void(void*)>> owned(isHost ? nullptr : device.allocate(memory.size()),
                                                                [&](void* there) { device.free(there); });
  auto* base = isHost ? memory.data() : static_cast<std::byte*>(owned.get());
  if (!isHost) device.copy(base, memory.data(), memory.size());
  launch(base);
  if (!isHost) device.copy(memory.data(), base, memory.size());
  device.synchronize();
}

void BackwardOnDevice::launch(const BackwardKernel& kernel, BackwardData& data) {
  withMemory(data.memory(), [&](std::byte* base) { kernel.launch({}, argsOf(data, base)); });
}

void BackwardOnDevice::expectRight(BackwardShape shape) {
  shape.dtype = dtype();
  for (const bool deterministic : {true, false}) {
    if (!deterministic && openDevice(target()).kind() == DeviceKind::Host) continue;  // has one mode only
    BackwardData data(shape);
    launch(compile(configOf(shape, target(), deterministic)), data);
    EXPECT_EQ(data.verdict(), "") << (deterministic ? "deterministic" : "fast");
  }
}

TEST_P(BackwardOnDevice, LengthsThatNoBlockDividesAgreeWithFloat64) {
  for (const bool causal : {false, true})
    for (const auto& [queries, keys] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 65}, {65, 65}, {128, 128}, {200, 129}, {65, 200}})
      expectRight({.queries = queries, .keys = keys, .dim = 32, .dimV = 32, .causal = causal});
}

TEST_P(BackwardOnDevice, EveryWidthAgreesWithFloat64) {
  for (const std::int64_t width : {8, 72, 256})
    expectRight({.headsQ = 1, .headsKv = 1, .queries = 70, .keys = 70, .dim = width, .dimV = width, .causal = width == 256});
  expectRight({.queries = 70, .keys = 90, .dim = 64, .dimV = 24});
  expectRight({.queries = 70, .keys = 90, .dim = 24, .dimV = 128, .causal = true});
}

TEST_P(BackwardOnDevice, HeadsOfAGroupAddUpToTheirKeyHead) {
  for (const bool causal : {false, true})
    expectRight({.batch = 2, .headsQ = 6, .headsKv = 2, .queries = 70, .keys = 70, .dim = 32, .dimV = 40, .causal = causal});
}

TEST_P(BackwardOnDevice, HeadsBesideEachOther) {
  expectRight(
      {.batch = 2, .headsQ = 4, .headsKv = 2, .queries = 65, .keys = 33, .dim = 32, .dimV = 16, .hasDlse = true, .rowsFirst = true});
}

TEST_P(BackwardOnDevice, LseMayBeAResultToo) {
  expectRight({.queries = 70, .keys = 40, .dim = 32, .dimV = 32, .causal = true, .hasDlse = true});
}

TEST_P(BackwardOnDevice, RowsThatSeeNoKeyHaveNoGradient) {
  expectRight({.queries = 200, .keys = 3, .causal = true});
  expectRight({.queries = 70, .keys = 0});
  expectRight({.queries = 0, .keys = 40});
}

TEST_P(BackwardOnDevice, LargeScoresAgreeWithFloat64) { expectRight({.queries = 70, .keys = 70, .dim = 64, .dimV = 64, .scoreScale = 8}); }

TEST_P(BackwardOnDevice, TheSameLaunchGivesTheSameBits) {
  const BackwardShape shape{
      .dtype = dtype(), .headsQ = 4, .headsKv = 2, .queries = 200, .keys = 200, .dim = 64, .dimV = 64, .causal = true};
  for (const bool deterministic : {false, true}) {
    const BackwardKernel kernel = compile(configOf(shape, target(), deterministic));
    if (kernel.config().deterministic != deterministic) continue;  // the host has one mode only
    BackwardData first(shape);
    launch(kernel, first);
    const BackwardViews once = first.here();
    for (int i = 0; i < 5; ++i) {
      BackwardData again(shape);
      launch(kernel, again);
      const BackwardViews views = again.here();
      EXPECT_EQ(first.read(once.dk), again.read(views.dk));
      EXPECT_EQ(first.read(once.dv), again.read(views.dv));
      if (deterministic) {
        EXPECT_EQ(first.read(once.dq), again.read(views.dq));
      }
    }
  }
}

}  // namespace fattn::backward
