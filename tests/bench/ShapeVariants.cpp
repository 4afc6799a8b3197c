// SPDX-License-Identifier: Apache-2.0
// What a kernel that was compiled without a shape loses, over many shapes: against the untuned default and against what was tuned for each
// shape. `shape-variants [TARGET] [--both]`: bf16, D 64, 128 and 256, lengths 512 to 16384, 32 heads, causal (--both: also not); exit code
// 1 where a cell is below 0.98 of the better of the two. One handle a kernel, compiled without a shape, its variants by fattn::warmup; all
// kernels take turns, forwards and backwards.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "fattn/fattn.h"
#include "kernels/attention/AttentionSupport.h"
#include "tests/support/AttentionBench.h"

namespace {

using namespace fattn;

constexpr double kLeast = 0.98;
constexpr int kPairs = 8;
constexpr std::int64_t kHeads = 32;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Lane {
  const char* name;
  std::unique_ptr<tuning::Trial> trial;
  std::vector<double> us{};  // one a turn
};

void takeTurn(Lane& lane) {
  std::vector<double> us(3);
  lane.trial->measure(us);
  lane.us.push_back(median(us));
}

/// The median over pairs of turns of time of `other` / time of `one`.
double ratio(const Lane& one, const Lane& other) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i + 1 < one.us.size(); i += 2) ratios.push_back((other.us[i] + other.us[i + 1]) / (one.us[i] + one.us[i + 1]));
  return median(ratios);
}

Kernel withTile(AttentionConfig config, const TileConfig& tile) {
  config.tile = tile;
  return compile(config);
}

/// Whether the cell is good enough.
bool measureCell(const AttentionConfig& config, const Kernel& open, std::int64_t length) {
  AttentionConfig hinted = config;
  hinted.shape = ShapeHint{.batch = 1, .heads = kHeads, .seq_q = length, .seq_k = length};
  const TileConfig tuned = compile(hinted).info().tile, safe = kernels::resolve(config).tile;
  test::AttentionBench bench(config, *hinted.shape);
  std::vector<Lane> lanes;
  lanes.push_back({"open", bench.trial(open)});
  lanes.push_back({"default", bench.trial(withTile(config, safe))});
  lanes.push_back({"tuned", bench.trial(withTile(config, tuned))});
  lanes.push_back({"single", bench.trial(withTile(config, open.info().tile))});
  for (Lane& lane : lanes) takeTurn(lane);  // to warm up
  for (Lane& lane : lanes) lane.us.clear();
  for (int pair = 0; pair < kPairs; ++pair) {
    for (Lane& lane : lanes) takeTurn(lane);
    for (auto lane = lanes.rbegin(); lane != lanes.rend(); ++lane) takeTurn(*lane);
  }
  const double toDefault = ratio(lanes[0], lanes[1]), toTuned = ratio(lanes[0], lanes[2]), least = std::min(toDefault, toTuned);
  fmt::print("{:4} {:6} {:6}  {:9.1f} us  {:7.3f} {:7.3f} {:7.3f}  {}{}\n", config.head_dim, config.causal ? "causal" : "full", length,
             median(lanes[0].us), toDefault, toTuned, ratio(lanes[3], lanes[0]), tuned.toString(), least < kLeast ? "  TOO SLOW" : "");
  std::fflush(stdout);
  return least >= kLeast;
}

}  // namespace

int main(int argc, char** argv) try {
  bool both = false, good = true;
  std::string target = "cuda";
  for (int i = 1; i < argc; ++i) (std::string_view(argv[i]) == "--both") ? void(both = true) : void(target = argv[i]);
  fmt::print("{}\n   D mask   length        open  default/open tuned/open open/single  tuned for the length\n",
             openDevice(target).description());
  for (std::int64_t headDim : {64, 128, 256})
    for (bool causal : {true, false}) {
      if (!causal && !both) continue;
      const AttentionConfig config{.dtype = DType::BF16, .head_dim = headDim, .causal = causal, .target = target};
      const Kernel open = compile(config);
      std::vector<ShapeHint> shapes;
      for (std::int64_t length = 512; length <= 16384; length *= 2)
        shapes.push_back({.batch = 1, .heads = kHeads, .seq_q = length, .seq_k = length});
      warmup(config, shapes);
      for (const ShapeHint& shape : shapes) good = measureCell(config, open, shape.seq_q) && good;
    }
  return good ? 0 : 1;
} catch (const fattn::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
