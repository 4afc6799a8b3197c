// SPDX-License-Identifier: Apache-2.0
// Verification and pricing of loop models.
#include "compiler/gpu/schedule/LoopModel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "fattn/Error.h"

namespace fattn::gpu {
namespace {

[[noreturn]] void fail(std::string what, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, std::move(what), std::move(hint));
}

void verifyNode(const Node& node) {
  const auto legal = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (node.name.empty() || !std::ranges::all_of(node.name, legal) || std::isalpha(static_cast<unsigned char>(node.name.back())) == 0)
    fail(fmt::format("a node is called '{}'", node.name),
         "a name is letters, digits and '_', and ends in a letter, behind which a schedule writes the stage and `_`");
  const auto& w = node.work;
  const double figures[] = {w.exp2,
                            w.fma,
                            w.add,
                            w.convert,
                            w.shuffle,
                            w.sharedBytes,
                            w.latency,
                            node.bytes,
                            double(node.registers),
                            double(node.working),
                            double(node.shared)};
  if (std::ranges::any_of(figures, [](double x) { return !(x >= 0 && x < 1e12); }))
    fail(fmt::format("node {} has a figure that is negative, too large or no number", node.name));
  if (node.kind == NodeKind::Dot && (node.dot.m <= 0 || node.dot.n <= 0 || node.dot.k <= 0))
    fail(fmt::format("dot {} has the shape {}x{}x{} (m x n x k)", node.name, node.dot.m, node.dot.n, node.dot.k),
         "every extent is at least 1");
  if (node.kind == NodeKind::Dot && (node.dot.columnParts < 1 || node.dot.columnParts > node.dot.n))
    fail(fmt::format("dot {} has {} parts of {} columns", node.name, node.dot.columnParts, node.dot.n),
         "legal are 1 to as many as columns");
}

void verifyLimits(const LoopModel& loop) {
  if (loop.nodes.empty() || loop.nodes.size() > kMaxNodes)
    fail(fmt::format("the loop has {} nodes", loop.nodes.size()),
         fmt::format("a loop model has 1 to {} nodes; join arithmetic that belongs together", kMaxNodes));
  if (loop.groups < 1 || loop.groups > kMaxGroups)
    fail(fmt::format("the loop runs in {} groups", loop.groups), fmt::format("legal are 1 to {}", kMaxGroups));
  if (loop.threads < 1 || loop.threads > 1024) fail(fmt::format("a group has {} threads", loop.threads), "legal are 1 to 1024");
  if (loop.fixedRegisters < 0 || loop.fixedShared < 0 || (loop.registerLimit && *loop.registerLimit < 1))
    fail("fixed registers, fixed shared memory and the limit cannot be negative");
  if (loop.copyBytesPerCycle && !(*loop.copyBytesPerCycle > 0)) fail("copies move more than 0 bytes a cycle");
}

void verifyNodes(const std::vector<Node>& nodes) {
  std::set<std::string> names;
  for (const Node& node : nodes) {
    verifyNode(node);
    if (!names.insert(node.name).second) fail(fmt::format("two nodes are called {}", node.name));
  }
}

void verifyEdge(const Edge& edge, const std::vector<Node>& nodes) {
  const int count = static_cast<int>(nodes.size());
  if (edge.from < 0 || edge.from >= count || edge.to < 0 || edge.to >= count)
    fail(fmt::format("an edge from node {} to node {}, of {}", edge.from, edge.to, count));
  const Node &from = nodes[edge.from], &to = nodes[edge.to];
  const std::string text = fmt::format("the edge from {} to {}", from.name, to.name);
  if (edge.distance < 0 || edge.distance > 1)
    fail(fmt::format("{} has distance {}", text, edge.distance), "legal are 0 (the same iteration) and 1 (the one before)");
  if (edge.reuse && to.kind != NodeKind::Arithmetic)
    fail(fmt::format("{} reuses registers", text), "only arithmetic takes over its operand's registers");
  if (edge.chained && (from.kind != NodeKind::Dot || to.kind != NodeKind::Dot))
    fail(fmt::format("{} is chained", text), "only dots hand an accumulator on");
}

/// A cycle of edges within one iteration, in which every node would have to come before itself; empty where there is none.
std::vector<std::string> cycleWithinIteration(const LoopModel& loop) {
  const int count = static_cast<int>(loop.nodes.size());
  std::vector<int> state(loop.nodes.size(), 0), path;  // 0 new, 1 on the path, 2 done
  std::vector<std::string> found;
  const auto visit = [&](auto&& self, int node) -> bool {
    if (state[node] == 2) return false;
    path.push_back(node);
    if (state[node] == 1) {
      for (auto it = std::ranges::find(path, node); it != path.end(); ++it) found.push_back(loop.nodes[*it].name);
      return true;
    }
    state[node] = 1;
    for (const Edge& edge : loop.edges)
      if (edge.from == node && edge.distance == 0 && self(self, edge.to)) return true;
    state[node] = 2;
    path.pop_back();
    return false;
  };
  for (int node = 0; node < count; ++node)
    if (visit(visit, node)) break;
  return found;
}

enum class MissingCycles : std::uint8_t { Refused, Zero };

double dotCycles(const Node& node, const MatrixInstruction& instruction, const Target& target) {
  const auto up = [](int value, int step) { return (value + step - 1) / step; };
  double columns = 0;  // cycles of one row of instructions: as many of the widest as fit, then the rest
  const int part = up(node.dot.n, node.dot.columnParts);
  for (int left = up(part, instruction.stepN) * instruction.stepN; left > 0; left -= std::min(left, instruction.maxN)) {
    const auto cycles = instruction.cyclesOf(std::max(std::min(left, instruction.maxN), instruction.minN),
                                             node.dot.aInShared && instruction.a.has(Home::Shared));
    if (!cycles)
      throw Error(ErrorCode::Unsupported,
                  fmt::format("the table has no cycles for {} on {}, which dot {} needs", instruction.name, target.name, node.name),
                  "schedule it for a target that has them");
    columns += *cycles;
  }
  return columns * node.dot.columnParts * up(node.dot.m, instruction.m) * up(node.dot.k, instruction.k);
}

/// Prices lane operations; what the table has no rate for occupies issue slots only.
NodeCost priceArithmetic(const Node& node, const Target& target, std::vector<std::string>& unpriced) {
  NodeCost result;
  const auto& [exp2, fma, add, convert, shuffle, sharedBytes, latency] = node.work;
  const auto spend = [&](Unit unit, double amount, const std::optional<double>& rate, const char* what) {
    if (amount > 0 && !rate) unpriced.push_back(fmt::format("{} of {}", what, node.name));
    if (rate) result.units[static_cast<int>(unit)] += amount / *rate;
  };
  spend(Unit::Exp2, exp2, target.rates.exp2, "exp2");
  spend(Unit::Fma, fma, target.rates.fma, "fma");
  spend(Unit::Fma, add, target.rates.add, "add");
  spend(Unit::Convert, convert, target.rates.convert, "conversions");
  spend(Unit::Shuffle, shuffle, target.rates.shuffle, "shuffles");
  spend(Unit::Shared, sharedBytes, target.shared.bytesPerCycle, "shared memory");
  result.units[static_cast<int>(Unit::Issue)] =
      (exp2 + fma + add + convert + shuffle + sharedBytes / 16) / target.warpSize / target.rates.issue;
  result.cycles = std::ranges::max(result.units) + latency;
  return result;
}

NodeCost price(const Node& node, const LoopModel& loop, const Target& target, MissingCycles missing, std::vector<std::string>& unpriced) {
  NodeCost result;
  switch (node.kind) {
    case NodeKind::Arithmetic:
      return priceArithmetic(node, target, unpriced);
    case NodeKind::Copy:
      result.queued = result.copy = true;
      result.cycles = loop.copyBytesPerCycle ? node.bytes / *loop.copyBytesPerCycle : 0;
      result.units[static_cast<int>(Unit::Copy)] = result.cycles;
      return result;
    case NodeKind::Dot:
      break;
  }
  const MatrixInstruction* instruction = target.matrixFor(node.dot.type, node.dot.instruction);
  if (instruction == nullptr)
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} has no matrix instruction for {}, which dot {} multiplies", target.name, name(node.dot.type), node.name));
  result.queued = instruction->asynchronous;
  if (instruction->cycles || missing == MissingCycles::Refused) result.cycles = dotCycles(node, *instruction, target);
  result.units[static_cast<int>(Unit::Tensor)] = result.cycles;
  return result;
}

}  // namespace

std::string_view name(Unit unit) {
  constexpr std::array<std::string_view, kUnits> names = {"tensor", "exp2", "fma", "convert", "shuffle", "shared", "issue", "copy"};
  return names[static_cast<int>(unit)];
}

std::optional<int> LoopModel::find(std::string_view node) const {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].name == node) return static_cast<int>(i);
  return std::nullopt;
}

static void verifyBuffers(const LoopModel& loop) {
  const auto check = [&](const std::vector<int>& of, std::string_view what) {
    for (const int node : of)
      if (node < 0 || node >= static_cast<int>(loop.nodes.size())) fail(fmt::format("{} node {}, of {}", what, node, loop.nodes.size()));
  };
  if (loop.copies.size() > kMaxCopies)
    fail(fmt::format("the loop has {} copies", loop.copies.size()), fmt::format("legal are up to {}", kMaxCopies));
  for (const CopyAhead& copy : loop.copies) check(copy.readers, fmt::format("copy {} is read by", copy.name));
  for (const Exchanged& one : loop.exchanged)
    check(one.readers, "an exchanged tile is read by"), check({one.filler}, "an exchanged tile is filled by");
  for (const std::vector<int>& nodes : loop.together) check(nodes, "what begins together has");
  for (const std::vector<int>& nodes : loop.oneTrip) check(nodes, "what has one stage has");
}

void LoopModel::verify() const {
  verifyLimits(*this);
  verifyNodes(nodes);
  verifyBuffers(*this);
  for (const Edge& edge : edges) verifyEdge(edge, nodes);
  if (const auto cycle = cycleWithinIteration(*this); !cycle.empty())
    fail(fmt::format("within one iteration {} needs its own result", fmt::join(cycle, " -> ")),
         "one of these edges has to have distance 1");
}

double CostedLoop::bound() const {
  const int unit = static_cast<int>(busiest());
  double sum = 0;
  for (const NodeCost& node : nodes) sum += node.units[unit];
  return sum * groups;
}

Unit CostedLoop::busiest() const {
  UnitCycles sum{};
  for (const NodeCost& node : nodes)
    for (int unit = 0; unit < kUnits; ++unit) sum[unit] += node.units[unit];
  return static_cast<Unit>(std::ranges::max_element(sum) - sum.begin());
}

static CostedLoop cost(const LoopModel& loop, const Target& target, MissingCycles missing) {
  loop.verify();
  CostedLoop result{.target = std::string(target.name), .edges = loop.edges, .groups = loop.groups, .fixedRegisters = loop.fixedRegisters};
  result.dotsEndInTrip = loop.dotsEndInTrip;
  result.copies = loop.copies, result.exchanged = loop.exchanged, result.otherShared = loop.otherShared;
  result.together = loop.together, result.oneTrip = loop.oneTrip;
  for (const Node& node : loop.nodes) {
    result.names.push_back(node.name);
    result.nodes.push_back(price(node, loop, target, missing, result.unpriced));
    result.registers.push_back(node.registers);
    result.working.push_back(node.working);
    result.shared.push_back(node.shared);
  }
  result.registerLimit = loop.registerLimit.value_or(gpu::registerLimit(target, loop.groups, loop.threads));
  result.fixedShared = loop.fixedShared;
  result.sharedLimit = result.blockShared = target.shared.bytesPerBlock;
  return result;
}

CostedLoop cost(const LoopModel& loop, const Target& target) { return cost(loop, target, MissingCycles::Refused); }

CostedLoop costWithoutDots(const LoopModel& loop, const Target& target) { return cost(loop, target, MissingCycles::Zero); }

}  // namespace fattn::gpu
