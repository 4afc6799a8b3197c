// SPDX-License-Identifier: Apache-2.0
#include "tests/decode/DecodeTest.h"

#include <algorithm>
#include <memory>

namespace fattn::decode {

std::string deviceCaseName(const testing::TestParamInfo<DeviceCase>& info) {
  std::string text = std::get<0>(info.param) + "_" + std::string(name(std::get<1>(info.param)));
  std::ranges::replace(text, ':', '_');
  return text;
}

void OnDevice::SetUp() try { openDevice(target()); } catch (const Error& error) {
  GTEST_SKIP() << error.what();
}

void OnDevice::launch(const DecodeKernel& kernel, DecodeData& data, int splits) {
  Device& device = openDevice(target());
  const bool isHost = device.kind() == DeviceKind::Host;
  const std::unique_ptr<void, std::function<void(void*)>> owned(isHost ? nullptr : device.allocate(data.memory().size()),
                                                                [&](void* memory) { device.free(memory); });
  auto* base = isHost ? data.memory().data() : static_cast<std::byte*>(owned.get());
  if (!isHost) device.copy(base, data.memory().data(), data.memory().size());
  DecodeArgs args = data.at(base);
  args.splits = splits;
  kernel.launch({}, args);
  if (!isHost) device.copy(data.memory().data(), base, data.memory().size());
  device.synchronize();
}

void OnDevice::expectRight(DecodeShape shape, std::initializer_list<int> splits) {
  shape.dtype = dtype();
  for (const bool balanced : {false, true}) {
    if (balanced && dtype() != DType::BF16) continue;  // how keys are shared is the same for all
    shape.balanced = balanced;
    const DecodeKernel kernel = compile(DecodeData(shape).config(target()));
    for (const int count : splits) {
      DecodeData data(shape);
      launch(kernel, data, count);
      const auto [o, lse] = data.errors();
      EXPECT_LE(o, data.tolerance().o) << count << " splits, page_size " << shape.pageSize << (balanced ? ", balanced" : "");
      EXPECT_LE(lse, data.tolerance().lse) << count << " splits, page_size " << shape.pageSize << (balanced ? ", balanced" : "");
    }
  }
}

TEST_P(OnDevice, LengthsFromNoneToAllAgreeWithFloat64) {
  expectRight({.lengths = {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 200}, .capacity = 200}, {1, 2, 7});
}

TEST_P(OnDevice, LengthsBeyondTheCacheAreAllOfItAndNegativeOnesNothing) {
  expectRight({.lengths = {100000, -5, 70}, .capacity = 70}, {1, 3});
}

TEST_P(OnDevice, PagesOfAnySizeAgreeWithFloat64) {
  for (const std::int64_t page : {1, 5, 16, 24, 64}) expectRight({.lengths = {77, 0, 130, 64}, .capacity = 130, .pageSize = page}, {1, 3});
}

TEST_P(OnDevice, CausalRowsSeeTheKeysBeforeThem) {
  for (const std::int64_t page : {0, 16})
    expectRight({.headsQ = 6, .headsKv = 2, .queries = 4, .lengths = {3, 4, 66, 90}, .capacity = 90, .causal = true, .pageSize = page},
                {1, 2});
}

TEST_P(OnDevice, HeadsBesideEachOtherAndUnequalWidths) {
  expectRight({.headsQ = 16, .headsKv = 1, .dim = 40, .dimV = 72, .lengths = {90, 33}, .capacity = 90, .rowsFirst = true}, {1, 2});
  expectRight({.headsQ = 3, .headsKv = 3, .dim = 128, .dimV = 128, .lengths = {90, 33}, .capacity = 90, .pageSize = 32, .rowsFirst = true},
              {2});
}

TEST_P(OnDevice, LargeScoresKeepTheirMaximum) { expectRight({.lengths = {100, 37}, .capacity = 100, .scoreScale = 30}, {1, 4}); }

TEST_P(OnDevice, WindowsHideWhatLiesBeforeThem) {
  for (const std::int64_t page : {0, 5, 16})
    expectRight({.queries = 3,
                 .lengths = {0, 1, 2, 9, 64, 65, 77, 130},
                 .capacity = 130,
                 .causal = page != 0,
                 .pageSize = page,
                 .window = page == 5 ? 1 : 13},
                {1, 3});
  expectRight({.lengths = {200, 127, 129, 63, 90}, .capacity = 200, .window = 64}, {1, 2});
  expectRight({.lengths = {30, 7}, .capacity = 30, .window = std::int64_t{1} << 40}, {1});
}

TEST_P(OnDevice, AppendedRowsAreSeenAndBecomeKeys) {
  for (const auto& [page, appended] : {std::pair<std::int64_t, std::int64_t>{0, 18}, {5, 3}, {16, 1}, {64, 18}})
    expectRight({.queries = appended == 3 ? 3 : 1,
                 .lengths = {0, 1, 2, 9, 64, 65, 77, 130},
                 .capacity = 130,
                 .causal = page != 5,
                 .pageSize = page,
                 .rowsFirst = page == 16,
                 .appended = appended},
                {1, 3});
}

TEST_P(OnDevice, AppendedRowsMoveTheWindow) {
  for (const std::int64_t page : {0, 16})
    expectRight({.queries = 2,
                 .dim = 40,
                 .dimV = 72,
                 .lengths = {0, 1, 12, 64, 81, 130, 3000},
                 .capacity = 130,
                 .causal = true,
                 .pageSize = page,
                 .window = 11,
                 .appended = page == 0 ? 2 : 17},
                {1, 3});
}

TEST_P(OnDevice, ManySequencesOfMixedLengths) {
  DecodeShape shape{.headsQ = 2, .headsKv = 1, .dim = 16, .dimV = 16, .lengths = {}, .capacity = 150};
  const int count = target().starts_with("simulated:") ? 60 : 300;
  for (int i = 0; i < count; ++i) shape.lengths.push_back((i * 7919 + 13) % 151);
  expectRight(shape, {2});
}

TEST_P(OnDevice, TheSameLaunchGivesTheSameBits) {
  for (const bool balanced : {false, true}) {
    const DecodeShape shape{.dtype = dtype(), .lengths = {200, 150, 3}, .capacity = 200, .balanced = balanced};
    const DecodeKernel kernel = compile(DecodeData(shape).config(target()));
    DecodeData first(shape);
    launch(kernel, first, 5);
    for (int i = 0; i < 3; ++i) {
      DecodeData again(shape);
      launch(kernel, again, 5);
      EXPECT_TRUE(first.memory() == again.memory());
    }
  }
}

}  // namespace fattn::decode
