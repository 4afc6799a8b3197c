// SPDX-License-Identifier: Apache-2.0
// Events: marks in a stream's time.
#include "tests/conformance/Programs.h"

namespace fattn::conformance {
namespace {

constexpr std::size_t kEventsLength = 200;

TEST_P(Conformance, EventsAreInTheOrderOfTheirStream) {
  const TileKernel kernel = compile(step(), {.target = target()});
  const Array<std::int32_t> x(device(), std::vector<std::int32_t>(kEventsLength));
  const OwnStream stream(device());
  const auto begin = device().createEvent(), middle = device().createEvent(), end = device().createEvent();
  begin->record(stream);
  launchStep(kernel, x, stream);
  middle->record(stream);
  for (int i = 0; i < 5; ++i) launchStep(kernel, x, stream);
  end->record(stream);
  const double first = device().elapsedMs(*begin, *middle), second = device().elapsedMs(*middle, *end),
               both = device().elapsedMs(*begin, *end);
  EXPECT_GT(both, 0);
  EXPECT_GE(first, 0);
  EXPECT_GE(second, 0);
  EXPECT_NEAR(first + second, both, 0.01) << "a GPU counts in steps of about a microsecond";
  EXPECT_EQ(device().elapsedMs(*end, *end), 0);
}

TEST_P(Conformance, AnEventIsWaitedFor) {
  const TileKernel kernel = compile(step(), {.target = target()});
  const Array<std::int32_t> x(device(), std::vector<std::int32_t>(kEventsLength));
  std::vector<std::int32_t> result(kEventsLength, -1);
  const OwnStream stream(device());
  for (int i = 0; i < 4; ++i) launchStep(kernel, x, stream);
  device().copy(result.data(), x.data(), x.bytes(), stream);
  const auto event = device().createEvent();
  event->record(stream);
  event->synchronize();
  EXPECT_EQ(result, std::vector<std::int32_t>(kEventsLength, stepped(0, 4)));
}

TEST_P(Conformance, AnEventIsWhereItWasRecordedLast) {
  const auto early = device().createEvent(), late = device().createEvent();
  late->record({});
  early->record({});
  const Array<std::int32_t> x(device(), std::vector<std::int32_t>(kEventsLength));
  late->record({});
  EXPECT_GE(device().elapsedMs(*early, *late), 0);
}

TEST_P(Conformance, TimesOfOtherEventsAreRefused) {
  const auto recorded = device().createEvent(), fresh = device().createEvent();
  recorded->record({});
  const std::string unrecorded = "the time between two events was asked for before both were recorded";
  EXPECT_SAYS(refusalOf(ErrorCode::InvalidArgument, [&] { device().elapsedMs(*recorded, *fresh); }), unrecorded);
  EXPECT_SAYS(refusalOf(ErrorCode::InvalidArgument, [&] { device().elapsedMs(*fresh, *recorded); }), unrecorded);
  const auto foreign = openDevice(isHost() ? "simulated:gfx942" : "host").createEvent();
  foreign->record({});
  const std::string other = "an event of another device was given to " + device().name();
  EXPECT_SAYS(refusalOf(ErrorCode::InvalidArgument, [&] { device().elapsedMs(*recorded, *foreign); }), other);
  EXPECT_SAYS(refusalOf(ErrorCode::InvalidArgument, [&] { device().elapsedMs(*foreign, *recorded); }), other);
}

}  // namespace
}  // namespace fattn::conformance
