// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernels/PtxLoop.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>

namespace fattn::test {
namespace {

bool isInstruction(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string::npos && line[first] != '/' && line[first] != '.' && line.find(';') != std::string::npos;
}

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
    if (isInstruction(line)) blocks.back().lines.push_back(line);
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

}  // namespace

std::vector<std::string> tripOf(const std::string& ptx, const std::function<bool(const std::string&)>& begins,
                                const std::function<bool(const std::vector<std::string>&)>& accepts) {
  const std::vector<BasicBlock> blocks = blocksOf(ptx);
  std::vector<std::string> shortest;
  for (std::size_t start = 0; start < blocks.size(); ++start) {
    if (!std::ranges::any_of(blocks[start].lines, begins)) continue;
    std::vector<std::string> trip;
    for (std::size_t block : wayBack(blocks, start)) trip.insert(trip.end(), blocks[block].lines.begin(), blocks[block].lines.end());
    if (!trip.empty() && accepts(trip) && (shortest.empty() || trip.size() < shortest.size())) shortest = std::move(trip);
  }
  return shortest;
}

}  // namespace fattn::test
