// SPDX-License-Identifier: Apache-2.0
// What a device says of itself, and how it is found.
#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/conformance/Conformance.h"

namespace fattn::conformance {
namespace {

TEST_P(Conformance, SaysWhatItIs) {
  EXPECT_TRUE(target().starts_with(name(device().kind()))) << name(device().kind());
  EXPECT_TRUE(device().name().starts_with(target())) << device().name();
  EXPECT_NE(device().description(), "");
  EXPECT_NE(device().driverVersion(), "");
  const std::string chip = device().chip();
  switch (device().kind()) {
    case DeviceKind::Host:
      EXPECT_EQ(chip, "host");
      break;
    case DeviceKind::Cuda:
      EXPECT_TRUE(chip.starts_with("nvidia:sm_")) << chip;
      break;
    case DeviceKind::Hip:
    case DeviceKind::Simulated:
      EXPECT_TRUE(chip.starts_with("amd:gfx")) << chip;
      break;
  }
}

TEST_P(Conformance, IsFoundByItsName) {
  EXPECT_EQ(&openDevice(device().name()), &device());
  EXPECT_EQ(&openDevice(target()), &device());
  const std::vector<Device*> all = listDevices();
  EXPECT_EQ(std::ranges::count(all, &device()), device().kind() == DeviceKind::Simulated ? 0 : 1);
  EXPECT_EQ(std::ranges::count(all, &openDevice("host")), 1) << "the host is always there";
}

TEST_P(Conformance, CapabilitiesArePlausible) {
  const Capabilities can = device().capabilities();
  for (const std::int64_t extent : can.maxGrid) {
    EXPECT_GE(extent, 65535);
    EXPECT_LE(extent, INT32_MAX) << "program ids are i32";
  }
  EXPECT_GE(can.memoryBytes, std::int64_t{1} << 28);
  EXPECT_GE(can.cacheBytes, 0);
  EXPECT_GE(can.multiprocessors, 1);
  if (isHost())
    EXPECT_EQ(can.sharedBytes, 0);
  else
    EXPECT_GE(can.sharedBytes, 48 << 10);
  const bool isGpu = device().kind() == DeviceKind::Cuda || device().kind() == DeviceKind::Hip;
  EXPECT_EQ(can.asynchronous, isGpu);
}

TEST_P(Conformance, IsPreparedAnyNumberOfTimesByAnyThread) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { device().prepare(); });
  }
  device().prepare();
  const Array<int> memory(device(), std::vector<int>{1, 2, 3});
  EXPECT_EQ(memory.read(), (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace fattn::conformance
