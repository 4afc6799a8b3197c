// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>

#include "runtime/tune/CompileQueue.h"
#include "tests/unit/tune/FakeDevice.h"

namespace fattn::tuning {
namespace {

using namespace test;
using namespace std::chrono_literals;

struct NoTrial : Trial {
  void measure(std::span<double>) override {}
};

std::vector<TileConfig> tiles(int count) {
  std::vector<TileConfig> all;
  for (int i = 1; i <= count; ++i) all.push_back(tile(8 * i, 64));
  return all;
}

TEST(CompileQueue, GivesEachResultOnce) {
  for (bool ahead : {false, true})
    for (int jobs : {1, 3, 8}) {
      CompileQueue queue(
          tiles(20),
          [](const TileConfig& t) -> std::unique_ptr<Trial> {
            if (t.block_m == 24) throw Error(ErrorCode::CompileError, "24 is no number", "hint");
            return std::make_unique<NoTrial>();
          },
          jobs, ahead);
      std::set<std::size_t> seen;
      while (auto result = queue.next()) {
        EXPECT_TRUE(seen.insert(result->index).second);
        EXPECT_EQ(result->trial == nullptr, result->index == 2);
        EXPECT_EQ(result->failure, result->index == 2 ? "24 is no number" : "");
      }
      EXPECT_EQ(seen.size(), 20u);
      EXPECT_FALSE(queue.next());
    }
}

TEST(CompileQueue, AheadCompilesWhileTheCallerMeasuresAndNotBeyondItsRoom) {
  std::atomic<int> done{0};
  CompileQueue queue(
      tiles(50),
      [&](const TileConfig&) {
        ++done;
        return std::make_unique<NoTrial>();
      },
      2, true);
  ASSERT_TRUE(queue.next());
  for (int i = 0; i < 2000 && done < 5; ++i) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);
  EXPECT_GE(done, 5) << "one given, four ready";
  EXPECT_LE(done, 7) << "and one for each of the two threads at most, begun while there was room";
}

TEST(CompileQueue, OtherwiseNothingIsCompiledWhileTheCallerMeasures) {
  std::atomic<int> active{0}, most{0};
  CompileQueue queue(
      tiles(12),
      [&](const TileConfig&) {
        most = std::max(most.load(), ++active);
        std::this_thread::sleep_for(2ms);
        --active;
        return std::make_unique<NoTrial>();
      },
      4, false);
  while (queue.next()) EXPECT_EQ(active, 0);
  EXPECT_GT(most, 1) << "but several at once in next()";
}

TEST(CompileQueue, AnExceptionThatIsNoErrorPassesThrough) {
  for (bool ahead : {false, true}) {
    CompileQueue queue(tiles(5), [](const TileConfig&) -> std::unique_ptr<Trial> { throw std::bad_alloc(); }, 2, ahead);
    EXPECT_THROW(queue.next(), std::bad_alloc);
  }
}

}  // namespace
}  // namespace fattn::tuning
