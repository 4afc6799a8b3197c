// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/fattn-tune/Display.h"
#include "tools/fattn-tune/Report.h"

namespace fattn::tuner {
namespace {

using tuning::Step;

tuning::Progress progress(Step step, std::size_t done, std::size_t total, double seconds) {
  return {.step = step,
          .done = done,
          .total = total,
          .seconds = seconds,
          .budgetSeconds = 60,
          .point = nullptr,
          .best = TileConfig{.block_m = 128, .block_n = 64},
          .bestUs = 800,
          .safeUs = 1000};
}

TEST(Display, TheLineShowsHowFarWhatIsLeftAndTheBest) {
  EXPECT_EQ(
      Display::line(0, 1, "f16 d64 1x1x64", progress(Step::Sweep, 20, 40, 6.5), 200),
      "[1/1] f16 d64 1x1x64  [######--------------] trying 20/40  ETA 0:14  best BLOCK_M=128,BLOCK_N=64 800.0 us (1.25x the default)");
  EXPECT_EQ(Display::line(1, 3, "x", progress(Step::Rank, 24, 24, 30), 60).substr(0, 58),
            "[2/3] x  [####################] ranking 24/24  ETA 0:30  b");
  EXPECT_EQ(Display::line(1, 3, "x", progress(Step::Rank, 24, 24, 30), 60).size(), 59u) << "a line that wraps could not be replaced";
}

TEST(Display, TheBudgetBoundsWhatIsLeft) {
  EXPECT_NE(Display::line(0, 2, "x", progress(Step::Sweep, 1, 1000, 10), 200).find("ETA 1:50"), std::string::npos);
}

TEST(Report, TimesHaveTheirUnit) {
  EXPECT_EQ(timeText(12.34), "12.3 us");
  EXPECT_EQ(timeText(1234.5), "1.234 ms");
  EXPECT_EQ(timeText(12345678), "12.346 s");
}

Result tuned() {
  Result result;
  result.config = {.dtype = DType::BF16,
                   .head_dim = 64,
                   .head_dim_v = 64,
                   .causal = true,
                   .target = "host",
                   .tile = TileConfig{.block_m = 64, .block_n = 64},
                   .shape = ShapeHint{.batch = 1, .heads = 8, .seq_q = 512, .seq_k = 512}};
  result.plan.key.device = "a cpu";
  result.plan.candidates.resize(49);
  result.status = Result::Status::Tuned;
  result.winner = cache::TuneWinner{.tile = {.block_m = 128, .block_n = 64}, .medianUs = 800, .spreadUs = 4};
  result.outcome.winner = result.winner;
  result.outcome.safeUs = 1000;
  result.outcome.gain = 1.25;
  result.outcome.gainNoise = 0.004;
  result.outcome.measured = 40;
  result.outcome.failed = 2;
  return result;
}

TEST(Report, ALineSaysWhatWonAndByHowMuch) {
  Result result = tuned(), same = tuned(), late = tuned();
  same.outcome.safeIsBest = true;
  late.status = Result::Status::NotReached;
  EXPECT_EQ(
      printTable({result, same, late}, 12.34, false),
      "host (a cpu)\n"
      "bf16 d64 causal    1x8x512            BLOCK_M=128,BLOCK_N=64             800.0 us  25.0% faster than the default, 1.000 ms +- 0.4%; "
      "40 measured, 2 failed\n"
      "bf16 d64 causal    1x8x512            BLOCK_M=128,BLOCK_N=64             800.0 us  the default is the best; 40 measured, 2 failed\n"
      "bf16 d64 causal    1x8x512            not reached within the budget\n"
      "2 problems tuned in 12.3 s\n");
}

}  // namespace
}  // namespace fattn::tuner
