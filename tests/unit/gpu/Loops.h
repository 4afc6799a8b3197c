// SPDX-License-Identifier: Apache-2.0
// Loop models of kernels that have been written by hand and measured.
#ifndef FATTN_TESTS_UNIT_GPU_LOOPS_H
#define FATTN_TESTS_UNIT_GPU_LOOPS_H

#include <random>

#include "compiler/gpu/schedule/LoopModel.h"

namespace fattn::gpu {

inline Node dotNode(std::string name, int n, int k, bool aInShared, int registers) {
  Node node{.name = std::move(name), .kind = NodeKind::Dot, .registers = registers};
  node.dot = {.type = DType::BF16, .m = 64, .n = n, .k = k, .aInShared = aInShared};
  return node;
}
inline Node workNode(std::string name, ArithmeticWork work, int registers = 0) {
  return Node{.name = std::move(name), .work = work, .registers = registers};
}

/// Attention forward, head dimension d, n keys a tile: S = Q K^T, exponentials, pack (and lazy redo), O += P V. `inPlace`: the
/// exponentials are a value of their own that takes over S's registers; else, as the prototype had it, they need none.
inline LoopModel forwardLoop(int d, int n, int groups, bool inPlace = false) {
  const double e = 64.0 * n;
  LoopModel loop{.name = "forward", .groups = groups, .fixedRegisters = d / 2 + 24};
  loop.nodes = {dotNode("S", n, d, true, n / 2), workNode("E", {.exp2 = e, .fma = e, .add = e}, inPlace ? n / 2 : 0),
                workNode("L", {.convert = e / 2}, n / 4), dotNode("PV", d, n, false, 0)};
  loop.edges = {{0, 1, 0, false, inPlace}, {1, 2, 0}, {2, 3, 0}, {3, 2, 1}};
  return loop;
}

/// A matrix product: one dot that accumulates, and the release of the operands' buffers behind it.
inline LoopModel gemmLoop(int n, int k, int groups) {
  LoopModel loop{.name = "gemm", .groups = groups, .fixedRegisters = n / 2 + 24};
  loop.nodes = {dotNode("C", n, k, true, 0), workNode("X", {.latency = 40})};
  loop.edges = {{0, 0, 1, true}, {0, 1, 1}};
  return loop;
}

/// Attention backward: 64 keys a group, m queries a tile, dQ shared by two groups and written by Qo.
inline LoopModel backwardLoop(int d, int m, int groups) {
  const double e = 64.0 * m;
  LoopModel loop{.name = "backward", .groups = groups, .fixedRegisters = d + 24};
  loop.nodes = {dotNode("S", m, d, true, m / 2),
                dotNode("dP", m, d, true, m / 2),
                workNode("P", {.exp2 = e, .fma = e, .convert = e / 2}, m / 4),
                dotNode("dV", d, m, false, 0),
                workNode("dS", {.fma = e, .add = e, .convert = e / 2, .latency = 100}, m / 4),
                dotNode("dK", d, m, false, 0),
                dotNode("dQ", d / 2, 128, true, d * m / 256),
                workNode("Qo", {.latency = 150})};
  loop.edges = {{0, 2, 0}, {2, 3, 0}, {1, 4, 0}, {2, 4, 0}, {4, 5, 0}, {4, 6, 0}, {6, 7, 0}};
  return loop;
}

/// A random loop of 2 to `most` nodes: a DAG within an iteration, and edges to the next one. Numbers are drawn one statement after the
/// other, so that every compiler makes the same loops.
inline LoopModel randomLoop(unsigned seed, int most) {
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  LoopModel loop{.name = "random", .groups = pick(1, 4), .registerLimit = 1 << 20};
  const int count = pick(2, most);
  for (int i = 0; i < count; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    const double e = 64.0 * pick(1, 200);
    if (const int kind = pick(0, 4); kind < 2) {
      const int registers = pick(0, 64), aInShared = pick(0, 1), k = 16 * pick(1, 16), n = 8 * pick(1, 32);
      loop.nodes.push_back(dotNode(name, n, k, aInShared == 1, registers));
    } else if (kind == 2 && i == 0) {
      loop.nodes.push_back(Node{.name = name, .kind = NodeKind::Copy, .bytes = 16 * e, .shared = 1024});
    } else {
      const int registers = pick(0, 64);
      const ArithmeticWork work{.exp2 = pick(0, 1) * e, .fma = pick(0, 3) * e, .convert = pick(0, 1) * e, .latency = 10.0 * pick(0, 9)};
      loop.nodes.push_back(workNode(name, work, registers));
    }
  }
  for (int to = 0; to < count; ++to)
    for (int from = 0; from < count; ++from) {
      if (from < to && pick(0, 2) == 0) loop.edges.push_back({from, to, 0});
      if (pick(0, 9) == 0) loop.edges.push_back({from, to, 1});
    }
  if (pick(0, 1) == 1) loop.copyBytesPerCycle = 20;
  return loop;
}

}  // namespace fattn::gpu

#endif
