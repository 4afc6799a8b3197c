// SPDX-License-Identifier: Apache-2.0
// The PTX of the main loop issues its dots in the order that its schedule names, and waits no more than that order makes it wait.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSpace.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/core/CompileProgram.h"

namespace fattn {
namespace {

/// A basic block of PTX: its lines, and the numbers of the blocks that may follow.
struct BasicBlock {
  std::vector<std::string> lines;
  std::vector<std::size_t> next;
};

std::vector<BasicBlock> blocksOf(const std::string& ptx) {
  std::vector<BasicBlock> blocks(1);
  std::map<std::string, std::size_t> labels;
  std::vector<std::pair<std::size_t, std::string>> branches;
  std::istringstream text(ptx);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("$L")) {
      blocks.back().next.push_back(blocks.size());
      labels[line.substr(0, line.find(':'))] = blocks.size();
      blocks.emplace_back();
      continue;
    }
    blocks.back().lines.push_back(line);
    const std::size_t branch = line.find("\tbra"), label = line.find("$L");
    if (label == std::string::npos || (branch == std::string::npos && line.find(" bra") == std::string::npos)) continue;
    branches.emplace_back(blocks.size() - 1, line.substr(label, line.find(';') - label));
    if (line.find("bra.uni") == std::string::npos) blocks.back().next.push_back(blocks.size());
    blocks.emplace_back();
  }
  blocks.back().next.clear();
  for (const auto& [from, label] : branches) blocks[from].next.push_back(labels.at(label));
  return blocks;
}

/// The shortest way from a block back to it, counted in lines: the usual path of a trip, as exact sides are long. Empty where there is
/// none.
std::vector<std::size_t> wayBack(const std::vector<BasicBlock>& blocks, std::size_t start) {
  std::vector<std::size_t> cost(blocks.size(), std::numeric_limits<std::size_t>::max()), before(blocks.size());
  std::set<std::pair<std::size_t, std::size_t>> open;
  auto reach = [&](std::size_t from, std::size_t at) {
    for (std::size_t next : blocks[from].next)
      if (at + blocks[from].lines.size() < cost[next]) {
        open.erase({cost[next], next});
        cost[next] = at + blocks[from].lines.size();
        before[next] = from;
        open.emplace(cost[next], next);
      }
  };
  reach(start, 0);
  while (!open.empty()) {
    const auto [at, block] = *open.begin();
    open.erase(open.begin());
    if (block != start) reach(block, at);
  }
  if (cost[start] == std::numeric_limits<std::size_t>::max()) return {};
  std::vector<std::size_t> way = {start};
  for (std::size_t at = before[start]; at != start; at = before[at]) way.push_back(at);
  std::reverse(way.begin() + 1, way.end());
  return way;
}

/// "A" and "B" for the issue of the first and the second dot, "<n" for a wait that leaves n dots in flight. The first dot has both operands
/// in shared memory, the second one has its left one in registers.
std::string eventOf(const std::string& line) {
  constexpr std::string_view kWait = "wgmma.wait_group.sync.aligned";
  if (line.find("wgmma.mma_async") != std::string::npos) return line.find("mov.b64 da,") != std::string::npos ? "A" : "B";
  if (auto at = line.find(kWait); at != std::string::npos) return "<" + line.substr(line.find_first_of("0123456789", at), 1);
  return "";
}

/// What one trip of the main loop issues, from the first dot on, and where it waits for that dot.
std::string emitted(const std::string& ptx) {
  const std::vector<BasicBlock> blocks = blocksOf(ptx);
  for (std::size_t start = 0; start < blocks.size(); ++start) {
    const bool begins = std::ranges::any_of(blocks[start].lines, [](const std::string& line) { return eventOf(line) == "A"; });
    std::vector<std::string> events;
    if (begins)
      for (std::size_t block : wayBack(blocks, start))
        for (const std::string& line : blocks[block].lines)
          if (std::string event = eventOf(line); !event.empty()) events.push_back(event);
    if (std::ranges::count(events, "A") != 1 || std::ranges::count(events, "B") != 1) continue;
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
  return "no loop with both dots";
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

class EmittedOrder : public testing::TestWithParam<std::tuple<std::int64_t, bool>> {};

TEST_P(EmittedOrder, IsTheSchedules) {
  const auto [headDim, causal] = GetParam();
  const AttentionConfig config = kernels::resolve({.dtype = DType::BF16, .head_dim = headDim, .causal = causal, .target = "nvidia:sm_90a"});
  TileConfig tile = *config.tile;
  const std::vector<std::string> schedules = kernels::offeredSchedules(config, tile);
  EXPECT_FALSE(schedules.empty());
  for (const std::string& schedule : schedules) {
    tile.schedule = schedule;
    const std::string ptx =
        kernels::compileProgram(
            {.target = config.target, .tile = tile, .folder = "", .trace = [&] { return traceAttentionForward(config, tile); }})
            .binary.bytes;
    EXPECT_EQ(emitted(ptx), expected(schedule)) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(Hopper, EmittedOrder, testing::Combine(testing::Values(64, 128), testing::Bool()));

}  // namespace
}  // namespace fattn
