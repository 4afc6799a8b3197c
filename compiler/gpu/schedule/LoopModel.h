// SPDX-License-Identifier: Apache-2.0
// An innermost loop as the schedule search sees it: a handful of coarse nodes and who needs whose result. A node is a dot, a copy, or
// a maximal connected group of arithmetic between them. Work is counted in the terms of the program (elements, bytes, shapes);
// cost() turns it into cycles with the figures of one row of the machine table.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_LOOPMODEL_H
#define FATTN_COMPILER_GPU_SCHEDULE_LOOPMODEL_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/gpu/Target.h"

namespace fattn::gpu {

/// Nodes of a loop; more are not coarse any more.
inline constexpr int kMaxNodes = 16;
inline constexpr int kMaxGroups = 8;
/// Copies whose distances a schedule says; more run as far ahead as they may.
inline constexpr int kMaxCopies = 8;

enum class NodeKind : std::uint8_t { Dot, Copy, Arithmetic };

/// The product of an m x k and a k x n tile by one group.
struct DotWork {
  DType type = DType::BF16;
  int m = 64, n = 0, k = 0;
  bool aInShared = true;
  int columnParts = 1;                ///< warp groups that have a part of the columns each, and read all of `a`
  std::string_view instruction = {};  ///< a row of the target by its name; empty: the first that takes the type
};

/// Lane operations (one element each; a packed instruction counts once) and bytes of shared memory of one group in one trip.
/// `latency`: cycles on top in which the group waits and occupies nothing.
struct ArithmeticWork {
  double exp2 = 0, fma = 0, add = 0, convert = 0, shuffle = 0, sharedBytes = 0, latency = 0;
};

struct Node {
  std::string name;  ///< a word that ends in a letter: behind it, a schedule writes the stage, and `_`
  NodeKind kind = NodeKind::Arithmetic;
  DotWork dot = {};          ///< of a Dot
  ArithmeticWork work = {};  ///< of an Arithmetic node
  double bytes = 0;          ///< a Copy moves
  int registers = 0;         ///< a thread that the node's result holds
  int working = 0;           ///< registers a thread on top while the node runs, as for operands that it reads from shared memory
  std::int64_t shared = 0;   ///< bytes of shared memory that the node's result holds
};

/// `to` of iteration i uses the result of `from` of iteration i - distance.
struct Edge {
  int from = 0, to = 0;
  int distance = 0;
  bool chained = false;  ///< only hands an accumulator from dot to dot: in-order units need no wait in between
  bool reuse = false;    ///< `to` is elementwise and its result takes over the registers of `from`'s as it is computed
  bool order = false;    ///< `to` only comes later, as memory asks for, and uses no result: none is kept for it
};

/// A copy from global memory into slots of a buffer, some trips ahead of the nodes that read it. It is no node: it is issued as soon as a
/// slot is free.
struct CopyAhead {
  std::string name;            ///< as of nodes; behind it, a schedule writes the trips
  std::vector<int> readers;    ///< nodes
  std::int64_t slotBytes = 0;  ///< with what hands the slot over
  int most = 0;                ///< trips ahead at most
  bool boxes = false;          ///< an engine's, for which a slot can be free in the middle of a trip
};

/// A buffer that a node fills for others.
struct Exchanged {
  int filler = 0;
  std::vector<int> readers;
  std::int64_t slotBytes = 0;
};

struct LoopModel {
  std::string name;
  int groups = 1;              ///< warp groups that run the loop side by side on an SM
  int threads = 128;           ///< in a group
  bool dotsEndInTrip = false;  ///< every asynchronous dot is waited for before its trip ends, whether its result is used or not
  std::vector<Node> nodes = {};
  std::vector<Edge> edges = {};
  std::vector<CopyAhead> copies = {};           ///< at most kMaxCopies
  std::vector<Exchanged> exchanged = {};        ///< beside them
  std::int64_t otherShared = 0;                 ///< bytes of the block's other buffers, all of them
  std::vector<std::vector<int>> together = {};  ///< nodes that begin together: each right behind the one before, with its stage
  std::vector<std::vector<int>> oneTrip = {};   ///< nodes that have one stage, whichever that is
  int fixedRegisters = 0;                       ///< a thread: accumulators carried by the loop, addresses, statistics
  std::int64_t fixedShared = 0;                 ///< bytes that live as long as the loop
  std::optional<int> registerLimit = {};        ///< else what the target allows
  std::optional<double> copyBytesPerCycle =
      {};  ///< an SM's share of the memory's speed, a run-time figure; copies cost latency only without it

  /// Index of the node; nothing where none is called so.
  std::optional<int> find(std::string_view node) const;
  /// Throws InvalidArgument: names the node or edge and what would be legal.
  void verify() const;
};

/// What an SM has one of (or a rate of) and the groups share.
enum class Unit : std::uint8_t { Tensor, Exp2, Fma, Convert, Shuffle, Shared, Issue, Copy };
inline constexpr int kUnits = 8;
using UnitCycles = std::array<double, kUnits>;
std::string_view name(Unit unit);

struct NodeCost {
  bool queued = false;  ///< goes to an in-order queue (dots or copies); the group goes on
  bool copy = false;    ///< which of the two queues
  double cycles = 0;    ///< alone on the SM
  UnitCycles units{};   ///< cycles of each unit; none exceeds `cycles`
};

/// A loop priced for a target: all that legality, resources and simulation need.
struct CostedLoop {
  std::string target = {};
  std::vector<std::string> names = {};
  std::vector<NodeCost> nodes = {};
  std::vector<int> registers = {}, working = {};
  std::vector<std::int64_t> shared = {};
  std::vector<Edge> edges = {};
  std::vector<CopyAhead> copies = {};
  std::vector<Exchanged> exchanged = {};
  std::int64_t otherShared = 0;
  std::vector<std::vector<int>> together = {}, oneTrip = {};
  int groups = 1, fixedRegisters = 0, registerLimit = 0;
  bool dotsEndInTrip = false;
  std::int64_t fixedShared = 0, sharedLimit = 0;
  std::int64_t blockShared = 0;            ///< what a block has, whatever the limit of the search
  std::vector<std::string> unpriced = {};  ///< work that the table has no figure for, in words

  int size() const { return static_cast<int>(nodes.size()); }
  /// The busiest unit's cycles a trip (of all groups): no schedule takes less.
  double bound() const;
  Unit busiest() const;
};

/// Verifies and prices the loop. Throws Unsupported where the target has no matrix instruction for a dot or no figure for its cycles.
CostedLoop cost(const LoopModel& loop, const Target& target);
/// The same with dots that take no time where the table has no figure: enough to check an order and to print it, not to rank any.
CostedLoop costWithoutDots(const LoopModel& loop, const Target& target);

}  // namespace fattn::gpu

#endif
