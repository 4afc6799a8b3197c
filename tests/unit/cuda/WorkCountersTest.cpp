// SPDX-License-Identifier: Apache-2.0
// Whose counter a launch gets, on a fake driver.
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "runtime/cuda/WorkCounters.h"
#include "tests/support/Allocations.h"
#include "tests/unit/cuda/Support.h"

namespace fattn {
namespace {

class WorkCounters : public test::Fake {
 protected:
  static compiler::Binary counting() {
    compiler::Binary binary = test::ptxBinary(1);
    binary.repeats = binary.counts = true;
    return binary;
  }

  /// The counter that a launch into this stream gets.
  std::uint64_t counterOf(const Module& module, const void* stream) {
    const std::vector<std::uint64_t> arguments = {7};
    driver.launches.clear();
    gpu().launch(module, {100, 20, 1}, arguments, {.native = const_cast<void*>(stream)});
    std::uint64_t counter = 0;
    EXPECT_EQ(driver.launches.size(), 1u);
    std::memcpy(&counter, driver.launches.at(0).arguments + 8, sizeof(counter));
    return counter;
  }

  std::array<int, 3> streams_{};
};

TEST_F(WorkCounters, LieBetweenTheArgumentsAndTheNumbersOfPrograms) {
  auto module = load(counting());
  EXPECT_NE(counterOf(*module, nullptr), 0u);
  std::array<std::int32_t, 3> programs{};
  std::memcpy(programs.data(), driver.launches[0].arguments + 16, sizeof(programs));
  EXPECT_EQ(programs, (std::array{100, 20, 1}));
  EXPECT_EQ(driver.launches[0].bytes, 28u);
  const ArgumentLayout layout({{"i", false, DType::I8}}, 1, true, true);
  EXPECT_EQ(layout.counterOffset(), 8u);
  EXPECT_EQ(layout.programsOffset(), 16u);
  EXPECT_EQ(layout.mapOffset(0), 64u);
}

TEST_F(WorkCounters, AreZeroAtFirst) {
  auto module = load(counting());
  std::uint32_t value = 1;
  std::memcpy(&value, reinterpret_cast<const void*>(counterOf(*module, nullptr)), sizeof(value));
  EXPECT_EQ(value, 0u);
}

TEST_F(WorkCounters, BelongToStreamsWhateverTheirHandlesAre) {
  auto module = load(counting());
  // Ids that fall on the same place of the table.
  driver.streamIds = {{&streams_[0], 5}, {&streams_[1], 5 + cuda::WorkCounters::kStreams}, {&streams_[2], 0}};
  std::set<std::uint64_t> counters;
  for (const int& stream : streams_) {
    counters.insert(counterOf(*module, &stream));
    EXPECT_EQ(counterOf(*module, &stream), counterOf(*module, &stream));
  }
  EXPECT_EQ(counters.size(), 3u);
  const std::uint64_t before = counterOf(*module, &streams_[0]);
  driver.streamIds[&streams_[0]] = 99;
  EXPECT_NE(counterOf(*module, &streams_[0]), before) << "a handle that another stream has got";
}

TEST_F(WorkCounters, OfStreamsEnd) {
  auto module = load(counting());
  for (std::uint32_t i = 0; i < cuda::WorkCounters::kStreams; ++i) {
    driver.streamIds[&streams_[0]] = 1000 + i;
    ASSERT_NE(counterOf(*module, &streams_[0]), 0u) << i;
  }
  driver.streamIds[&streams_[0]] = 7;
  EXPECT_EQ(counterOf(*module, &streams_[0]), 0u) << "blocks share programs out evenly";
}

TEST_F(WorkCounters, BelongToCapturedLaunchesAsLongAsTheirGraph) {
  auto module = load(counting());
  const std::uint64_t ofStream = counterOf(*module, nullptr);
  driver.capturing = streams_.data();
  std::set<std::uint64_t> counters = {ofStream};
  for (std::uint32_t i = 0; i < cuda::WorkCounters::kCaptured; ++i) counters.insert(counterOf(*module, nullptr));
  EXPECT_EQ(counters.size(), cuda::WorkCounters::kCaptured + 1);
  EXPECT_EQ(counterOf(*module, nullptr), 0u) << "there are no more";
  for (const auto& gone : std::exchange(driver.kept, {})) gone();
  EXPECT_NE(counterOf(*module, nullptr), 0u);
  driver.capturing = nullptr;
  EXPECT_EQ(counterOf(*module, nullptr), ofStream);
  for (const auto& gone : std::exchange(driver.kept, {})) gone();
}

TEST_F(WorkCounters, ThatAGraphCannotKeepAreNotUsed) {
  auto module = load(counting());
  driver.capturing = streams_.data();
  for (const char* function : {"cuUserObjectCreate", "cuGraphRetainUserObject", "cuStreamGetCaptureInfo_v2"}) {
    driver.once[function] = 1;
    EXPECT_EQ(counterOf(*module, nullptr), 0u) << function;
  }
  std::set<std::uint64_t> counters;
  for (std::uint32_t i = 0; i < cuda::WorkCounters::kCaptured; ++i) counters.insert(counterOf(*module, nullptr));
  EXPECT_EQ(counters.size(), cuda::WorkCounters::kCaptured) << "and not lost";
  for (const auto& gone : std::exchange(driver.kept, {})) gone();
}

TEST_F(WorkCounters, ThatCannotBeMadeAreMissing) {
  driver.once["cuMemAlloc_v2"] = 2;
  testing::internal::CaptureStderr();
  auto module = load(counting());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("no counters for blocks that take several programs, which are shared out evenly instead: "), std::string::npos)
      << said;
  EXPECT_EQ(counterOf(*module, nullptr), 0u);
}

TEST_F(WorkCounters, CostNoAllocation) {
  auto module = load(counting());
  const std::vector<std::uint64_t> arguments = {7};
  gpu().launch(*module, {100, 20, 1}, arguments, {});
  const long before = test::allocations();
  for (int i = 0; i < 20; ++i) gpu().launch(*module, {100, 20, 1}, arguments, {});
  EXPECT_EQ(test::allocations() - before, 0);
}

}  // namespace
}  // namespace fattn
