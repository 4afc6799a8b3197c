// SPDX-License-Identifier: Apache-2.0
// Candidates that hang or take their process with them, measured by processes that share a store.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "runtime/cache/TunedStore.h"
#include "runtime/tune/Watchdog.h"
#include "tests/unit/tune/FakeDevice.h"

namespace fattn::tuning {
namespace {

using namespace test;
using Status = cache::TunePoint::Status;

struct WatchdogTest : testing::Test {
  WatchdogTest() {
    std::string pattern = testing::TempDir() + "fattn-watchdog-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~WatchdogTest() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder;
  const cache::TuneKey key{.target = "t", .device = "d", .driver = "none", .compiler = "c", .kernel = "k", .shape = {{"rows", 64}}};
  Space space{.candidates = {tile(16, 16), tile(32, 32), tile(64, 64), tile(128, 64)}, .safe = tile(64, 64)};

  /// A search whose candidates do `behave` before they are launched; each begins a piece of 0.3 s.
  int searchWatched(const std::function<void(const TileConfig&)>& behave) {
    return supervise([&](Watched& watched, std::span<const Blame> blamed) {
      cache::Directory directory(folder);
      cache::TunedStore store(directory);
      for (const Blame& blame : blamed) {
        const cache::TunePoint point{.tile = TileConfig::parse(blame.what), .status = Status::Failed, .reason = blame.reason, .timeMs = 1};
        store.record(key, {&point, 1});
      }
      FakeDevice device;
      device.us = [&](const TileConfig& t) {
        const Watched::Piece piece(watched, t.toString(), 0.3);
        behave(t);
        return t == tile(128, 64) ? 50.0 : 100.0;
      };
      Callbacks callbacks = device.callbacks();
      callbacks.keep = [&](std::span<const cache::TunePoint> points, const std::optional<cache::TuneWinner>& winner) {
        store.record(key, points, winner);
      };
      Settings settings = device.settings();
      settings.known = store.read(key).points;
      return search(space, callbacks, settings).winner ? 0 : 3;
    });
  }
  cache::TuneRecord found() {
    cache::Directory directory(folder);
    return cache::TunedStore(directory).read(key);
  }
  std::string failures() {
    std::string text;
    for (const cache::TunePoint& point : found().points)
      if (point.status == Status::Failed) text += point.tile.toString() + ": " + point.reason + "\n";
    return text;
  }
};

TEST_F(WatchdogTest, ACandidateThatHangsIsGivenUpAndBlamedAlone) {
  testing::internal::CaptureStderr();
  const int code = searchWatched([](const TileConfig& t) {
    if (t == tile(32, 32)) pause();
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fattn: warning: BLOCK_M=32,BLOCK_N=32 is given up: it gave no result within 0.3 s; another process goes on\n");
  EXPECT_EQ(code, 0);
  EXPECT_EQ(failures(), "BLOCK_M=32,BLOCK_N=32: it gave no result within 0.3 s\n");
  ASSERT_TRUE(found().winner);
  EXPECT_EQ(found().winner->tile, tile(128, 64));
}

TEST_F(WatchdogTest, ACandidateThatEndsItsProcessIsBlamedAlone) {
  testing::internal::CaptureStderr();
  const int code = searchWatched([](const TileConfig& t) {
    if (t == tile(16, 16)) raise(SIGKILL);
  });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(failures(), "BLOCK_M=16,BLOCK_N=16: its process ended with signal 9\n");
  EXPECT_EQ(found().winner->tile, tile(128, 64));
}

TEST_F(WatchdogTest, ADefaultThatHangsEndsItAll) {
  testing::internal::CaptureStderr();
  const int code = searchWatched([](const TileConfig& t) {
    if (t == tile(64, 64)) pause();
  });
  EXPECT_TRUE(testing::internal::GetCapturedStderr().ends_with("fattn: error: BLOCK_M=64,BLOCK_N=64 was given up twice\n"));
  EXPECT_EQ(code, 1);
}

TEST(Watchdog, ExitCodesAndSignalsPassThrough) {
  EXPECT_EQ(supervise([](Watched&, std::span<const Blame>) { return 42; }), 42);
  EXPECT_EQ(supervise([](Watched&, std::span<const Blame>) -> int {
              raise(SIGKILL);  // in no piece of work: nobody is to blame
              return 0;
            }),
            128 + SIGKILL);
}

TEST(Watchdog, AnInterruptReachesTheWorkAndEndsIt) {
  const pid_t self = getpid();
  const int code = supervise([self](Watched& watched, std::span<const Blame>) {
    const Watched::Piece piece(watched, "a long one", 60);
    kill(self, SIGINT);
    pause();  // ends by the signal that is handed on
    return 0;
  });
  EXPECT_EQ(code, 128 + SIGINT);
}

TEST(Watchdog, AThreadWhosePieceHangsIsLeftToItself) {
  auto goOn = std::make_shared<std::promise<void>>(), ended = std::make_shared<std::promise<void>>();
  const std::optional<Blame> blame = watch([=](Watched& watched) {
    {
      const Watched::Piece quick(watched, "a quick one", 60);
    }
    const Watched::Piece slow(watched, "a slow one", 0.2);
    goOn->get_future().wait();
    {
      const Watched::Piece last(watched, "nobody hears of it", 1);
    }
    ended->set_value();
  });
  ASSERT_TRUE(blame);
  EXPECT_EQ(blame->what, "a slow one");
  EXPECT_EQ(blame->reason, "it gave no result within 0.2 s");
  goOn->set_value();
  EXPECT_EQ(ended->get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready) << "it can still end, and say so";
}

TEST(Watchdog, AThreadThatEndsHasNoBlameAndItsExceptionIsTheCallers) {
  int done = 0;
  EXPECT_FALSE(watch([&](Watched& watched) {
    const Watched::Piece piece(watched, "one", 60);
    done = 1;
  }));
  EXPECT_EQ(done, 1);
  EXPECT_THROW(watch([](Watched&) { throw Error(ErrorCode::DeviceError, "lost"); }), Error);
}

struct Slow : Trial {
  void measure(std::span<double> us) override { std::ranges::fill(us, 7.0); }
};

TEST(Watchdog, WithoutAWatcherAGuardedTrialIsTheTrial) {
  Watched nobody;
  std::unique_ptr<Trial> guarded = nobody.guard(std::make_unique<Slow>(), "slow");
  double us = 0;
  guarded->measure({&us, 1});
  EXPECT_EQ(us, 7);
  EXPECT_EQ(Watched::nameOf(*guarded), "slow");
  EXPECT_NE(dynamic_cast<Slow*>(&Watched::inner(*guarded)), nullptr);
}

}  // namespace
}  // namespace fattn::tuning
