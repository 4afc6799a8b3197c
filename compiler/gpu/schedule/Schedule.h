// SPDX-License-Identifier: Apache-2.0
// A schedule of a loop's nodes: in which order one trip issues them, and of which iteration.
//
// A node of stage s works, in trip t, on iteration t - s. As one line: the names in the order of issue, each followed by its stage
// where that is not 0: `S PV1 E L` issues S of this iteration, PV of the one before, then E and L. `_` behind a dot that only adds to what
// the loop carries, as in `S E L W_`, lets it run on when its trip ends: it is waited for in the next trip, where an earlier dot of that
// trip is. Behind the nodes copies follow that do not run as far ahead as they may, each with its trips: `S PV1 E L z1`.
//
// Legal: for an edge u -> v of distance d, either s(v) + d > s(u), or s(v) + d == s(u) and u comes before v. With the absolute position
// a(n) = s(n) * size + place, that is a(u) < a(v) + d * size: legality does not change when every a moves by the same amount. Such moves
// are rotations of one cyclic order, the same steady state. The rotation with the fewest late stages is the one whose first node has
// the smallest a, that is stage 0 in place 0; it is unique, and the one that the search keeps schedules in (canonical form).
#ifndef FATTN_COMPILER_GPU_SCHEDULE_SCHEDULE_H
#define FATTN_COMPILER_GPU_SCHEDULE_SCHEDULE_H

#include <array>
#include <optional>
#include <string>

#include "compiler/gpu/schedule/LoopModel.h"
#include "fattn/Error.h"

namespace fattn::gpu {

/// Stages at most; stage digits stay one character.
inline constexpr int kMaxStages = 4;

struct Schedule {
  int size = 0;
  std::array<std::uint8_t, kMaxNodes> order{};                  ///< order[place] is a node
  std::array<std::uint8_t, kMaxNodes> stage{};                  ///< stage[node]
  std::array<bool, kMaxNodes> runsOn{};                         ///< runsOn[node]: a dot that ends in the trip behind the one that issues it
  std::array<std::optional<std::uint8_t>, kMaxCopies> ahead{};  ///< ahead[copy]: trips before its first reader; nothing: not decided yet

  /// a(node) for every node.
  std::array<int, kMaxNodes> positions() const;
  bool operator==(const Schedule&) const = default;
};

/// "S PV1 E L".
std::string print(const CostedLoop& loop, const Schedule& schedule);
std::string print(const LoopModel& loop, const Schedule& schedule);

/// Reads a line as print() writes it; every node once, and copies or none. Throws InvalidArgument; says nothing about legality.
Schedule parseSchedule(const CostedLoop& loop, std::string_view text);

/// The first edge that the schedule breaks, in words with a remedy; nothing where it is legal.
std::optional<Error> illegalEdge(const CostedLoop& loop, const Schedule& schedule);

/// Whether nodes that begin together do, and those of one trip have one stage.
bool keepsGroups(const CostedLoop& loop, const Schedule& schedule);
/// The first of these conditions that the schedule breaks, in words with a remedy; nothing where it keeps all.
std::optional<Error> brokenGroup(const CostedLoop& loop, const Schedule& schedule);

/// The same steady state with the fewest late stages.
Schedule canonical(const Schedule& schedule);
/// The same of absolute positions a(n), no two of which are in one place.
Schedule canonical(const std::array<int, kMaxNodes>& at, int size);

/// Parses and checks a schedule forced by the user. It keeps its rotation, which decides how long a dot may run: one that ends a trip is
/// waited for there, before what it reads is released, unless it runs on; one that begins a trip runs beside the dots behind it.
Schedule forceSchedule(const CostedLoop& loop, std::string_view text);

}  // namespace fattn::gpu

#endif
