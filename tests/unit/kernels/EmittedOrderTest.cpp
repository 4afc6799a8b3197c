// SPDX-License-Identifier: Apache-2.0
// The PTX of the main loop issues its dots in the order that its schedule names, and waits no more than that order makes it wait.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/core/CompileProgram.h"
#include "tests/unit/kernels/PtxLoop.h"
#include "tools/fattn-tune/AttentionProblem.h"

namespace fattn {
namespace {

/// "A" and "B" for the issue of the first and the second dot, "<n" for a wait that leaves n dots in flight. The first dot has both operands
/// in shared memory, the second one has its left one in registers.
std::string eventOf(const std::string& line) {
  constexpr std::string_view kWait = "wgmma.wait_group.sync.aligned";
  if (line.find("wgmma.mma_async") != std::string::npos) return line.find("add.s64 da,") != std::string::npos ? "A" : "B";
  if (auto at = line.find(kWait); at != std::string::npos) return "<" + line.substr(line.find_first_of("0123456789", at), 1);
  return "";
}

std::vector<std::string> eventsOf(const std::vector<std::string>& trip) {
  std::vector<std::string> events;
  for (const std::string& line : trip)
    if (std::string event = eventOf(line); !event.empty()) events.push_back(event);
  return events;
}

std::vector<std::string> mainLoop(const std::string& ptx) {
  return test::tripOf(
      ptx, [](const std::string& line) { return eventOf(line) == "A"; },
      [](const std::vector<std::string>& trip) {
        const std::vector<std::string> events = eventsOf(trip);
        return std::ranges::count(events, "A") == 1 && std::ranges::count(events, "B") == 1;
      });
}

/// What one trip of the main loop issues, from the first dot on, and where it waits for that dot.
std::string emitted(const std::string& ptx) {
  std::vector<std::string> events = eventsOf(mainLoop(ptx));
  std::ranges::rotate(events, std::ranges::find(events, "A"));
  std::string text;
  std::size_t behind = 0;  // dots issued since the first one
  bool waited = false;
  for (const std::string& event : events) {
    const bool wait = event[0] == '<';
    if (!wait && event != "A") ++behind;
    if (wait && (waited || static_cast<std::size_t>(event[1] - '0') > behind)) continue;  // for the second dot
    waited = waited || wait;
    text += text.empty() ? event : " " + event;
  }
  return text;
}

/// The same by the schedule's text: the arithmetic on the first dot waits until only the dots behind it are in flight.
std::string expected(const std::string& schedule) {
  std::istringstream text(schedule);
  std::vector<std::string> nodes;
  for (std::string node; text >> node;) nodes.push_back(node.substr(0, 1));
  std::ranges::rotate(nodes, std::ranges::find(nodes, "A"));
  std::string events;
  int behind = 0;
  for (const std::string& node : nodes) {
    behind += node == "B" ? 1 : 0;
    if (node == "a") events += " <" + std::to_string(behind);
    if (node == "A" || node == "B") events += events.empty() ? node : " " + node;
  }
  return events;
}

std::string ptxOf(const kernels::ResolvedAttention& config, const TileConfig& tile) {
  return kernels::compileProgram(
             {.target = config.target, .tile = tile, .folder = "", .trace = [&] { return traceAttentionForward(config.kind, tile); }})
      .binary.bytes;
}

kernels::ResolvedAttention hopper(std::int64_t headDim, bool causal) {
  return kernels::resolve({.dtype = DType::BF16, .head_dim = headDim, .causal = causal, .target = "nvidia:sm_90a"});
}

class EmittedOrder : public testing::TestWithParam<std::tuple<std::int64_t, bool>> {};

TEST_P(EmittedOrder, IsTheSchedules) {
  const auto [headDim, causal] = GetParam();
  const kernels::ResolvedAttention config = hopper(headDim, causal);
  TileConfig tile = config.tile;
  const std::vector<std::string> schedules = kernels::askCompiler(config, tile);
  EXPECT_FALSE(schedules.empty());
  for (const std::string& schedule : schedules) {
    tile.schedule = schedule;
    EXPECT_EQ(emitted(ptxOf(config, tile)), expected(schedule)) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(Hopper, EmittedOrder, testing::Combine(testing::Values(64, 128), testing::Bool()));

/// What a trip of the default configurations takes a thread, in instructions of PTX. The numbers may only fall: whoever makes them fall
/// writes the new ones here.
struct TripCase {
  std::int64_t headDim;
  bool causal;
  std::size_t most;
};

TEST(EmittedTrip, TakesNoMoreInstructionsThanBefore) {
  for (const TripCase& one : {TripCase{64, false, 154}, TripCase{64, true, 154}, TripCase{128, false, 154}, TripCase{128, true, 266},
                              TripCase{256, false, 154}, TripCase{256, true, 154}}) {
    const kernels::ResolvedAttention config = hopper(one.headDim, one.causal);
    const std::size_t count = mainLoop(ptxOf(config, config.tile)).size();
    EXPECT_GT(count, 0u);
    EXPECT_LE(count, one.most) << "head_dim " << one.headDim << (one.causal ? ", causal" : "");
    EXPECT_GE(count, one.most - one.most / 50) << "write the new number here: head_dim " << one.headDim << (one.causal ? ", causal" : "");
  }
}

std::size_t countOf(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// No warp waits for another one but at the turns: what unusual rows need is decided a warp, rows leave in 16 bytes a lane, and a warp that
/// has waited for the copy of its query rows may write where they lay. (Rows of 256 do not fit into registers that way.)
TEST(EmittedEnd, HasNoBarrierOfTheBlockAndStoresBoxes) {
  for (std::int64_t headDim : {64, 128})
    for (bool causal : {false, true})
      for (const char* schedule : {"A B1 a b", "A B1 a b persistent", "A B1 a b dynamic"}) {
        const kernels::ResolvedAttention config = hopper(headDim, causal);
        // (Three groups of 64 rows ask all warps about unusual rows where a block has one program.)
        TileConfig tile = headDim == 128 ? TileConfig{.block_m = 128, .block_n = 128, .stages = 2, .warps = 8} : config.tile;
        tile.schedule = schedule;
        const std::string ptx = ptxOf(config, tile);
        const std::string which = tile.toString() + (causal ? ", causal" : "");
        EXPECT_EQ(countOf(ptx, "bar.red"), 0u) << which;
        EXPECT_EQ(countOf(ptx, "\tbar.sync \t1,"), 0u) << which;
        // Matrices of 8 x 32 elements for the warp's 16 rows at once, and boxes of 16 x 64.
        EXPECT_EQ(countOf(ptx, "stmatrix.sync.aligned.m8n8.x4"), static_cast<std::size_t>(headDim) / 16) << which;
        EXPECT_EQ(countOf(ptx, "cp.async.bulk.tensor.4d.global.shared::cta"), static_cast<std::size_t>(headDim) / 64) << which;
        EXPECT_EQ(countOf(ptx, "st.global.v"), 0u) << which;
      }
}

}  // namespace
}  // namespace fattn
