// SPDX-License-Identifier: Apache-2.0
// The space of attention's tile configurations, what cannot fit a machine, and how kernels are measured and compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <thread>

#include "kernels/attention/AttentionSpace.h"
#include "kernels/attention/AttentionSupport.h"
#include "runtime/cache/Directory.h"
#include "tests/support/AttentionBench.h"
#include "tools/fattn-tune/AttentionProblem.h"

namespace fattn::kernels {
namespace {

using test::AttentionBench;

AttentionConfig config(const char* target, DType dtype = DType::F16, std::int64_t dim = 64) {
  return {.dtype = dtype, .head_dim = dim, .head_dim_v = dim, .target = target};
}

std::vector<TileConfig> spaceOf(const AttentionConfig& c) { return attentionSpace(resolve(c).kind, machineOf(c.target)); }
TileConfig defaultOf(const AttentionConfig& c) { return resolve(c).tile; }
std::vector<TileConfig> variantsOf(const AttentionConfig& c, const TileConfig& tile) { return problemOf(c).variants(tile); }

TEST(AttentionSpace, BeginsWithTheDefaultAndHoldsEachPointOnce) {
  for (const char* target : {"host", "nvidia:sm_90"}) {
    std::vector<TileConfig> space = spaceOf(config(target));
    ASSERT_GT(space.size(), 40u);
    EXPECT_EQ(space.front(), defaultOf(config(target))) << space.front().toString();
    for (std::size_t i = 0; i < space.size(); ++i) {
      EXPECT_NO_THROW(space[i].validate());
      EXPECT_EQ(std::ranges::count(space, space[i]), 1) << space[i].toString();
    }
  }
}

TEST(AttentionSpace, NarrowBlocksAreForF32OnGpus) {
  auto narrow = [](const AttentionConfig& c) {
    return std::ranges::count_if(spaceOf(c), [](const TileConfig& tile) { return tile.block_n < 32; });
  };
  EXPECT_GT(narrow(config("nvidia:sm_90", DType::F32)), 0);
  EXPECT_EQ(narrow(config("nvidia:sm_90", DType::BF16)), 0);
}

// The default has an order of its own: it is a point beside those of the table.
TEST(AttentionSpace, BeginsWithADefaultThatNamesASchedule) {
  const AttentionConfig c = config("nvidia:sm_90", DType::BF16, 48);
  const std::vector<TileConfig> space = spaceOf(c);
  EXPECT_EQ(space.front(), defaultOf(c));
  EXPECT_EQ(space.front().schedule, "A B1 a b");
}

TEST(AttentionSpace, OrdersOfTheLoopAreVariantsWhereTheCompilerOffersThem) {
  EXPECT_TRUE(variantsOf(config("host"), {.block_m = 64, .block_n = 64}).empty());
  std::vector<TileConfig> variants = variantsOf(config("nvidia:sm_90"), {.block_m = 64, .block_n = 64, .warps = 4});
  ASSERT_EQ(variants.size(), 3u);
  std::vector<std::string> texts;
  for (const TileConfig& variant : variants) texts.push_back(variant.schedule);
  EXPECT_EQ(texts, (std::vector<std::string>{"A a B1 b", "A B1 a b", "A b1 a B1"}));
  variants[0].schedule.clear();
  EXPECT_EQ(variants[0].toString(), "BLOCK_M=64,BLOCK_N=64,WARPS=4");
  texts.clear();
  for (const TileConfig& variant : variantsOf(config("nvidia:sm_90"), variants[1])) texts.push_back(variant.schedule);
  EXPECT_EQ(texts, (std::vector<std::string>{"A a b B", "A a B1 b", "A b1 a B1"})) << "its own order is no variant, the first is one";
}

// The tuner measures one program a block, several in turns and several while the kernel runs, whichever of them the tile names.
TEST(AttentionSpace, OtherWaysOfHandingProgramsToBlocksAreVariants) {
  const AttentionConfig c = config("nvidia:sm_90a", DType::BF16, 128);
  const auto schedules = [&](const std::string& schedule) {
    std::vector<std::string> texts;
    for (const TileConfig& variant : variantsOf(c, {.block_m = 128, .block_n = 128, .stages = 2, .warps = 8, .schedule = schedule}))
      texts.push_back(variant.schedule);
    return texts;
  };
  EXPECT_EQ(defaultOf(c).schedule, "A B1 a b dynamic");
  for (const char* own : {"A B1 a b", "A B1 a b persistent", "A B1 a b dynamic"}) {
    const std::vector<std::string> others = schedules(own);
    for (const char* other : {"A B1 a b", "A B1 a b persistent", "A B1 a b dynamic"})
      EXPECT_EQ(std::ranges::count(others, other), std::string_view(own) == other ? 0 : 1) << own << ": " << other;
  }
  EXPECT_EQ(std::ranges::count(schedules("persistent"), ""), 1) << "the compiler's first choice without the word";
  EXPECT_EQ(std::ranges::count(schedules("dynamic"), "persistent"), 1);
}

// 250 registers on gfx1100, where 240 let a third program in; gfx942's programs fill its shared memory.
TEST(AttentionSpace, ABoundOfRegistersIsAVariantWhereItLetsOneMoreProgramIn) {
  const auto bounded = [](const char* target, std::int64_t dim) {
    const AttentionConfig c = config(target, DType::BF16, dim);
    std::vector<std::string> texts;
    for (const TileConfig& variant : variantsOf(c, defaultOf(c)))
      if (variant.schedule.contains("waves")) texts.push_back(variant.schedule);
    return texts;
  };
  EXPECT_EQ(bounded("amd:gfx1100", 128), (std::vector<std::string>{"waves6"}));
  EXPECT_EQ(bounded("amd:gfx942", 128), std::vector<std::string>());
  EXPECT_EQ(bounded("nvidia:sm_90a", 128), std::vector<std::string>());
}

TEST(AttentionSpace, ProgramsGatheredOnDiesAreAVariantOfChipsWithDies) {
  const auto gathered = [](const char* target) {
    const AttentionConfig c = config(target, DType::BF16, 64);
    return std::ranges::count(variantsOf(c, defaultOf(c)), std::string("dies"), &TileConfig::schedule);
  };
  EXPECT_EQ(gathered("amd:gfx942"), 1);
  EXPECT_EQ(gathered("modelled:gfx942"), 1);
  EXPECT_EQ(gathered("amd:gfx1100"), 0);
  EXPECT_EQ(gathered("nvidia:sm_90a"), 0);
}

// The orders that the defaults name are among those that the compiler offers for their loops.
TEST(AttentionSpace, TheDefaultsNameOrdersThatFit) {
  int named = 0;
  for (std::int64_t dim : {32, 56, 104, 136, 160, 192, 256})
    for (bool causal : {false, true}) {
      AttentionConfig c = config("nvidia:sm_90", DType::BF16, dim);
      c.causal = causal;
      const TileConfig tile = defaultOf(c);
      if (tile.schedule.empty()) continue;
      ++named;
      const std::vector<std::string> offered = askCompiler(resolve(c), tile);
      EXPECT_NE(std::ranges::find(offered, tile.schedule), offered.end()) << dim << ": " << tile.toString();
    }
  EXPECT_GE(named, 8);
}

std::string misfit(const AttentionConfig& c, const TileConfig& tile) {
  const ShapeHint shape = c.shape.value_or(ShapeHint{});
  return attentionMisfit(resolve(c).kind, tile, machineOf(c.target), {.q = shape.seq_q, .k = shape.seq_k}).value_or("fits");
}

TEST(AttentionMisfit, NamesTheResourceThatIsShort) {
  AttentionConfig c = config("nvidia:sm_80", DType::BF16, 128);
  EXPECT_EQ(misfit(c, {.block_m = 128, .block_n = 128, .stages = 1, .warps = 4}), "it needs about 360 registers a thread, which has 255");
  EXPECT_EQ(misfit(c, defaultOf(c)), "fits") << defaultOf(c).toString();
  EXPECT_EQ(misfit(c, {.block_m = 128, .block_n = 64, .stages = 2, .warps = 8}), "fits");
  EXPECT_EQ(misfit(c, {.block_m = 128, .block_n = 128, .stages = 4, .warps = 8}),
            "it needs 294912 bytes of shared memory, a block has 166912");
  EXPECT_EQ(misfit(c, {.block_m = 32, .block_n = 64, .stages = 2, .warps = 4}), "BLOCK_M=32 is no multiple of 16 rows for each of 4 warps");
  EXPECT_EQ(misfit(config("nvidia:sm_90", DType::BF16, 64), {.block_m = 128, .block_n = 128, .stages = 4, .warps = 8}), "fits");
  EXPECT_EQ(misfit(config("host"), {.block_m = 1024, .block_n = 1024}), "fits");
}

TEST(AttentionMisfit, BlocksBeyondTheLengthsAreAWaste) {
  AttentionConfig c = config("host");
  c.shape = ShapeHint{.seq_q = 1, .seq_k = 100};
  EXPECT_EQ(misfit(c, {.block_m = 16, .block_n = 128}), "fits") << "100 is in the bucket of 128, and 16 rows are the least";
  EXPECT_EQ(misfit(c, {.block_m = 32, .block_n = 64}), "BLOCK_M=32 is more than the 1 queries of this bucket of lengths");
  EXPECT_EQ(misfit(c, {.block_m = 16, .block_n = 192}), "BLOCK_N=192 is more than the 128 keys of this bucket of lengths");
}

// One query against 4096 keys: BLOCK_M=1 is 5 times faster than the least that was tried, 16.
TEST(AttentionMisfit, OnTheHostVeryFewRowsAreForFewQueries) {
  AttentionConfig c = config("host");
  const auto space = spaceOf(c);
  EXPECT_NE(std::ranges::find(space, TileConfig{.block_m = 1, .block_n = 64}), space.end());
  c.shape = ShapeHint{.seq_q = 1, .seq_k = 4096};
  EXPECT_EQ(misfit(c, {.block_m = 1, .block_n = 64}), "fits");
  c.shape = ShapeHint{.seq_q = 512, .seq_k = 512};
  EXPECT_EQ(misfit(c, {.block_m = 8, .block_n = 64}), "BLOCK_M=8 would read the keys 64 times for 512 queries");
  EXPECT_EQ(misfit(c, {.block_m = 16, .block_n = 64}), "fits");
}

TEST(AttentionMisfit, OnAGpuFewRowsAreForFewQueries) {
  AttentionConfig c = config("nvidia:sm_90");
  const TileConfig narrow{.block_m = 16, .block_n = 64, .stages = 2, .warps = 1};
  for (std::int64_t few : {0, 1, 16, 128}) {
    c.shape = ShapeHint{.seq_q = few, .seq_k = 4096};
    EXPECT_EQ(misfit(c, narrow), "fits") << few;
  }
  c.shape = ShapeHint{.seq_q = 2048, .seq_k = 4096};
  EXPECT_EQ(misfit(c, narrow), "BLOCK_M=16 would read the keys 128 times for 2048 queries");
  EXPECT_EQ(misfit(c, defaultOf(c)), "fits");
}

TEST(TuneKey, IsAboutTheKernelItsTargetAndTheBucket) {
  AttentionConfig c = config("host", DType::BF16);
  c.causal = true;
  cache::TuneKey key = tuneKey(c);
  EXPECT_TRUE(key.kernel.starts_with("attention_forward-bf16-d64-v64-causal ")) << key.kernel;
  EXPECT_TRUE(key.target.starts_with("host ")) << key.target;
  EXPECT_EQ(key.driver, "none");
  EXPECT_EQ(key.shape, (cache::Shape{{"heads", 32}, {"seq_k", 2048}, {"seq_q", 2048}}));
  c.causal = false;
  EXPECT_NE(tuneKey(c).kernel, key.kernel);
  c.shape = ShapeHint{.batch = 2, .heads = 3, .seq_q = 5};
  EXPECT_EQ(tuneKey(c).shape, (cache::Shape{{"heads", 6}, {"seq_k", 5}, {"seq_q", 5}}));
}

TEST(ShippedDevice, IsTheLevelOfAHostAndTheChipOfAGpu) {
  EXPECT_EQ(shippedDevice("host:avx2"), "host-avx2");
  if (__builtin_cpu_supports("avx512bf16"))
    EXPECT_EQ(shippedDevice("host:avx512bf16"), "host-avx512bf16");
  else
    EXPECT_THROW(shippedDevice("host:avx512bf16"), Error);
  EXPECT_EQ(shippedDevice("host:sse2"), "host-sse2");
  EXPECT_EQ(shippedDevice("nvidia:sm_90"), "nvidia-sm_90-");
  EXPECT_EQ(shippedDevice("nvidia:sm_90a"), "nvidia-sm_90a-");
}

struct ShippedTuning : testing::Test {
  ShippedTuning() { setenv("FATTN_TUNED_DIR", FATTN_SHIPPED, 1); }
  ~ShippedTuning() override { unsetenv("FATTN_TUNED_DIR"); }
};

TEST_F(ShippedTuning, EveryFileIsWholeAndOfThisVersion) {
  namespace fs = std::filesystem;
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(FATTN_SHIPPED)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    std::ifstream in(entry.path(), std::ios::binary);
    const auto record = cache::decodeTuned(std::string(std::istreambuf_iterator<char>(in), {}));
    ASSERT_TRUE(record) << entry.path();
    EXPECT_TRUE(record->winner) << entry.path();
    EXPECT_EQ(record->dropped, 0u) << entry.path();
  }
  EXPECT_GT(files, 40);
}

// It took what was tuned for 2048, which no other length wants.
TEST_F(ShippedTuning, WithoutAShapeTheConfigurationIsThatOfAllLengthsTogether) {
  AttentionConfig c = config("nvidia:sm_90", DType::BF16);
  c.causal = true;
  const TunedLookup open = lookUpTuned(c);
  EXPECT_EQ(open.rule, TunedRule::Shipped);
  EXPECT_EQ(open.nearby.size(), 6u);
  EXPECT_NE(open.reason.find("of 6 tuned shapes that what is told of the shape allows it loses least, at most "), std::string::npos)
      << open.reason;
  c.shape = ShapeHint{.batch = 1, .heads = 32, .seq_q = 2048};
  const TunedLookup told = lookUpTuned(c);
  ASSERT_EQ(told.nearby.size(), 1u);
  EXPECT_EQ(cache::bucketName(told.nearby[0]->shape), "heads=32,seq_k=2048,seq_q=2048");
  EXPECT_EQ(told.tile, told.nearby[0]->winner.tile);
  EXPECT_EQ(tunedShapes(problemOf(c), told).size(), 6u);
  c.shape = ShapeHint{.batch = 1, .heads = 32, .seq_q = 1, .seq_k = 4096};
  const TunedLookup far = lookUpTuned(c);
  EXPECT_EQ(far.rule, TunedRule::Default);
  EXPECT_EQ(far.tile, defaultOf(c));
  EXPECT_EQ(far.reason, "the default, as no tuned shape is near: each extent within a factor of 4, and of 8 in all");
}

// Where a tuning did not finish, or nobody asked for one, a length that is near decides.
TEST_F(ShippedTuning, ALengthThatWasNotTunedTakesTheNearestOne) {
  for (const bool causal : {false, true}) {
    AttentionConfig c = config("nvidia:sm_90a", DType::BF16);
    c.causal = causal;
    c.shape = ShapeHint{.batch = 1, .heads = 32, .seq_q = 32768};
    const TunedLookup found = lookUpTuned(c);
    EXPECT_EQ(found.rule, TunedRule::Shipped);
    ASSERT_FALSE(found.nearby.empty());
    EXPECT_EQ(cache::bucketName(found.nearby[0]->shape), "heads=32,seq_k=16384,seq_q=16384");
    EXPECT_EQ(found.tile, found.nearby[0]->winner.tile);
  }
}

TEST_F(ShippedTuning, ExplainListsTheVariants) {
  AttentionConfig c = config("nvidia:sm_90", DType::BF16);
  c.causal = true;
  const std::string text = explain(c);
  EXPECT_NE(text.find("\na launch takes the kernel of its bucket of shapes, else the nearest at hand within a factor of 4 in each extent "
                      "and 8 in all, else "
                      "the above; fattn::warmup compiles what is missing:\n  heads=32,seq_k=1024,seq_q=1024: BLOCK_M="),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("(at hand)"), std::string::npos) << text;
  compile(c);
  EXPECT_NE(explain(c).find("(at hand)"), std::string::npos) << explain(c);
  warmup(c, std::vector<ShapeHint>{{.batch = 1, .heads = 32, .seq_q = 512}});
  EXPECT_NE(explain(c).find("(at hand)\n  heads=32,seq_k=8192"), std::string::npos) << explain(c);
}

TEST(PlanTuning, AChipWithoutADeviceCannotBeTunedFor) try {
  planTuning(config("nvidia:sm_90"));
  FAIL() << "it was planned";
} catch (const Error& error) {
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.constraint(), "target 'nvidia:sm_90' names a chip to compile for; only a device can be tuned for");
}

struct AttentionBenchTest : testing::TestWithParam<DType> {
  std::unique_ptr<tuning::Trial> trial(AttentionBench& bench, bool causal, std::int32_t blockM) {
    AttentionConfig c = config("host", GetParam(), 16);
    c.causal = causal;
    c.tile = TileConfig{.block_m = blockM, .block_n = 32};
    return bench.trial(compile(c));
  }
};

TEST_P(AttentionBenchTest, MeasuresAndTellsAWrongKernelFromADifferentOne) {
  AttentionBench bench(config("host", GetParam(), 16), {.batch = 2, .heads = 3, .seq_q = 70, .seq_k = 90});
  auto safe = trial(bench, false, 64), other = trial(bench, false, 16), wrong = trial(bench, true, 64);
  std::vector<double> us(5);
  other->measure(us);
  for (double one : us) {
    EXPECT_GT(one, 0);
    EXPECT_LT(one, 1e6);
  }
  EXPECT_EQ(bench.check(*other, *safe), std::nullopt);
  std::optional<std::string> difference = bench.check(*wrong, *safe);
  ASSERT_TRUE(difference);
  EXPECT_TRUE(difference->starts_with("the relative difference from the safe configuration is ")) << *difference;
  EXPECT_EQ(bench.check(*other, *safe), std::nullopt) << "what the wrong one left does not stay";
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionBenchTest, testing::Values(DType::F32, DType::F16, DType::BF16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(AttentionBench, AShapeThatNoMemoryHoldsIsAnError) {
  EXPECT_THROW(AttentionBench(config("host", DType::F32, 256), {.batch = 1 << 30, .heads = 1 << 30, .seq_q = 1 << 30, .seq_k = 1}), Error);
}

// What tuning launches is the kernel that users launch, on operands of its own.
TEST(AttentionTrial, ComputesTheSameWithEachTile) {
  AttentionConfig c = config("host", DType::F32, 16);
  c.head_dim_v = 24;
  c.shape = ShapeHint{.batch = 2, .heads = 3, .seq_q = 70, .seq_k = 90};
  const TuneProblem problem = problemOf(c);
  EXPECT_EQ(problem.shape, (cache::Shape{{"heads", 6}, {"seq_k", 90}, {"seq_q", 70}}));
  const std::unique_ptr<Bench> bench = problem.bench();
  auto safe = bench->trial(TileConfig{.block_m = 64, .block_n = 64}), other = bench->trial(TileConfig{.block_m = 16, .block_n = 32});
  std::vector<double> us(2);
  other->measure(us);
  EXPECT_GT(us[0], 0);
  EXPECT_EQ(bench->check(*other, *safe), std::nullopt);
}

// The thread ends when it is told to; one that hung in a kernel would not.
TEST(TuneWithinCompile, ACandidateThatHangsIsGivenUpAndTheCallerGoesOn) {
  const AttentionConfig problem{
      .dtype = DType::F32, .head_dim = 8, .target = "host", .shape = ShapeHint{.batch = 1, .heads = 1, .seq_q = 8}};
  auto searches = std::make_shared<std::atomic<int>>(0);
  auto ended = std::make_shared<std::promise<void>>();
  const TileConfig slow{.block_m = 16, .block_n = 32};
  auto search = [=](const TunePlan& plan, const TuneOptions& options, cache::TunedStore&) {
    ++*searches;
    {
      const tuning::Watched::Piece piece(*options.watched, blameText(plan, slow), 0.2);
      while (!options.stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ended->set_value();
    return tuning::Outcome{};
  };
  testing::internal::CaptureStderr();
  EXPECT_FALSE(tuneWithinCompile(problemOf(problem), search));
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_NE(warning.find("BLOCK_M=16,BLOCK_N=32 is given up: it gave no result within 0.2 s; what was known before is used"),
            std::string::npos)
      << warning;
  EXPECT_EQ(ended->get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);

  const TunePlan plan = planTuning(problem);
  const std::vector<cache::TunePoint> points = tunedStore().read(plan.key).points;
  const auto failed = std::ranges::find(points, slow, &cache::TunePoint::tile);
  ASSERT_NE(failed, points.end());
  EXPECT_EQ(failed->status, cache::TunePoint::Status::Failed);
  EXPECT_EQ(failed->reason, "it gave no result within 0.2 s");

  AttentionConfig other = problem;
  other.head_dim = 16;
  EXPECT_FALSE(tuneWithinCompile(problemOf(other), search)) << "its device may be taken";
  EXPECT_EQ(*searches, 1);
}

}  // namespace
// fattn-tune --target amd:gfx942 tunes the modelled chip: what it finds is for the chip, and for a GPU of which nothing is measured.
TEST(TuneAttention, AChipTakesWhatAModelFound) {
  // No other test tunes this head dimension; a run before this one left its record where tests keep theirs.
  const AttentionConfig modelled = config("modelled:gfx942", DType::BF16, 104), chip = config("amd:gfx942", DType::BF16, 104);
  std::filesystem::remove_all((cache::Directory::process().path() / cache::TunedStore::folderOf(tuneKey(modelled))).parent_path());
  EXPECT_EQ(lookUpTuned(chip).rule, TunedRule::Default);
  TileConfig found = defaultOf(chip);
  found.block_n = 32;
  ASSERT_TRUE(tunedStore().record(tuneKey(modelled), {}, cache::TuneWinner{found, 10, 0, 1, ""}));
  const TunedLookup lookup = lookUpTuned(chip);
  EXPECT_EQ(lookup.tile, found);
  EXPECT_TRUE(lookup.reason.starts_with("by a model of the chip's time, as nothing is measured: ")) << lookup.reason;
  EXPECT_EQ(lookUpTuned(config("amd:gfx950", DType::BF16, 104)).rule, TunedRule::Default) << "of another chip it says nothing";
}

}  // namespace fattn::kernels
