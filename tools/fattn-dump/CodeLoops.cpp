// SPDX-License-Identifier: Apache-2.0
// Blocks and their successors; dominators by iteration to a fixed point; a loop is what reaches a branch back to a dominator without
// passing it (natural loops). Kernels have some hundred blocks.
#include "tools/fattn-dump/CodeLoops.h"

#include <algorithm>
#include <map>
#include <set>

namespace fattn::dump {
namespace {

struct Block {
  int begin = 0, end = 0;
  std::string label;
  std::vector<int> next, before;
};

std::vector<Block> blocksOf(const std::vector<CodeLine>& code) {
  std::vector<Block> blocks(1);
  std::map<std::string, int> byLabel;
  for (int i = 0; i < static_cast<int>(code.size()); ++i) {
    const bool starts = !code[i].label.empty() || (i > 0 && (!code[i - 1].falls || !code[i - 1].target.empty()));
    if (starts && i > blocks.back().begin) blocks.push_back({i, 0, {}, {}, {}});
    if (!code[i].label.empty()) {
      blocks.back().label = code[i].label;
      byLabel[code[i].label] = static_cast<int>(blocks.size()) - 1;
    }
    blocks.back().end = i + 1;
  }
  for (int b = 0; b < static_cast<int>(blocks.size()); ++b) {
    if (blocks[b].end == 0) continue;
    const CodeLine& last = code[blocks[b].end - 1];
    if (const auto target = byLabel.find(last.target); !last.target.empty() && target != byLabel.end())
      blocks[b].next.push_back(target->second);
    if (last.falls && b + 1 < static_cast<int>(blocks.size())) blocks[b].next.push_back(b + 1);
    for (int next : blocks[b].next) blocks[next].before.push_back(b);
  }
  return blocks;
}

/// Of each block those that every way from the first one goes through; empty for what cannot be reached.
std::vector<std::set<int>> dominatorsOf(const std::vector<Block>& blocks) {
  std::vector<std::set<int>> dominators(blocks.size());
  dominators[0] = {0};
  for (bool changes = true; changes;) {
    changes = false;
    for (int b = 1; b < static_cast<int>(blocks.size()); ++b) {
      std::set<int> common;
      bool isFirst = true;
      for (int before : blocks[b].before) {
        if (dominators[before].empty()) continue;
        if (isFirst) common = dominators[before];
        if (!isFirst) std::erase_if(common, [&](int block) { return !dominators[before].contains(block); });
        isFirst = false;
      }
      if (isFirst) continue;
      common.insert(b);
      if (common == dominators[b]) continue;
      dominators[b] = std::move(common);
      changes = true;
    }
  }
  return dominators;
}

void collect(const std::vector<Block>& blocks, int from, std::set<int>& body) {
  std::vector<int> open = {from};
  while (!open.empty()) {
    const int block = open.back();
    open.pop_back();
    if (body.insert(block).second) open.insert(open.end(), blocks[block].before.begin(), blocks[block].before.end());
  }
}

}  // namespace

std::vector<CodeLoop> loopsOf(const std::vector<CodeLine>& code) {
  const std::vector<Block> blocks = blocksOf(code);
  const std::vector<std::set<int>> dominators = dominatorsOf(blocks);
  std::map<int, std::set<int>> bodies;
  for (int b = 0; b < static_cast<int>(blocks.size()); ++b)
    for (int head : blocks[b].next) {
      if (!dominators[b].contains(head)) continue;
      bodies[head].insert(head);
      collect(blocks, b, bodies[head]);
    }
  std::vector<CodeLoop> loops;
  for (const auto& [head, body] : bodies) {
    CodeLoop loop{blocks[head].label, {}};
    for (int block : body)
      for (int line = blocks[block].begin; line < blocks[block].end; ++line) loop.lines.push_back(line);
    loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace fattn::dump
