// SPDX-License-Identifier: Apache-2.0
// A device whose times are given, with a clock that only its launches move.
#ifndef FATTN_TESTS_UNIT_TUNE_FAKEDEVICE_H
#define FATTN_TESTS_UNIT_TUNE_FAKEDEVICE_H

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>

#include "fattn/Error.h"
#include "runtime/tune/Search.h"

namespace fattn::tuning::test {

inline TileConfig tile(int m, int n) { return {.block_m = m, .block_n = n}; }

class FakeDevice {
 public:
  explicit FakeDevice(unsigned seed = 1) : random(seed) {}

  std::function<double(const TileConfig&)> us = [](const TileConfig&) { return 100.0; };
  double noise = 0;                                                  ///< standard deviation, relative
  double outliers = 0;                                               ///< share of launches that take three times as long
  std::function<double(double)> drift = [](double) { return 1.0; };  ///< factor of the times, of the seconds passed
  std::set<std::string> doesNotCompile, doesNotLaunch, wrong;
  double compileSeconds = 0;
  bool lost = false;

  double seconds = 0;
  std::map<std::string, int> launches, compiled;
  std::vector<cache::TunePoint> kept;
  std::optional<cache::TuneWinner> keptWinner;
  std::size_t reportedBeforeKept = 0;

  double launch(const TileConfig& t) {
    ++launches[t.toString()];
    if (lost || doesNotLaunch.contains(t.toString())) {
      if (doesNotLaunch.contains("and loses the device")) lost = true;
      throw Error(ErrorCode::DeviceError, "the launch of " + t.toString() + " failed");
    }
    double time = us(t) * drift(seconds) * (1 + noise * normal(random));
    if (std::uniform_real_distribution<double>()(random) < outliers) time *= 3;
    seconds += time * 1e-6;
    return time;
  }

  Callbacks callbacks() {
    return {.reject = {},
            .compile = [this](const TileConfig& t) { return compile(t); },
            .check = [this](Trial& candidate, Trial&) { return check(candidate); },
            .keep =
                [this](std::span<const cache::TunePoint> points, const std::optional<cache::TuneWinner>& winner) {
                  kept.insert(kept.end(), points.begin(), points.end());
                  if (winner) keptWinner = winner;
                },
            .progress =
                [this](const Progress& progress) {
                  if (progress.point != nullptr && (kept.empty() || kept.back().tile != progress.point->tile)) ++reportedBeforeKept;
                }};
  }
  Settings settings() {
    return {.budgetSeconds = 1e9, .jobs = 1, .overlap = false, .now = [this] { return seconds; }};
  }
  /// What was last kept of a configuration.
  const cache::TunePoint* point(const TileConfig& t) const {
    const cache::TunePoint* last = nullptr;
    for (const cache::TunePoint& point : kept)
      if (point.tile == t) last = &point;
    return last;
  }

 private:
  class FakeTrial : public Trial {
   public:
    FakeTrial(FakeDevice& device, const TileConfig& t) : device_(device), tile(t) {}
    void measure(std::span<double> times) override {
      for (double& time : times) time = device_.launch(tile);
    }

   private:
    FakeDevice& device_;

   public:
    const TileConfig tile;
  };

  std::unique_ptr<Trial> compile(const TileConfig& t) {
    std::lock_guard lock(mutex_);
    ++compiled[t.toString()];
    seconds += compileSeconds;
    if (doesNotCompile.contains(t.toString())) throw Error(ErrorCode::CompileError, "no code for " + t.toString());
    return std::make_unique<FakeTrial>(*this, t);
  }
  std::optional<std::string> check(Trial& candidate) {
    if (wrong.contains(dynamic_cast<FakeTrial&>(candidate).tile.toString())) return "relative error 1.0";
    return std::nullopt;
  }

  std::minstd_rand random;
  std::normal_distribution<double> normal;
  std::mutex mutex_;
};

}  // namespace fattn::tuning::test

#endif
