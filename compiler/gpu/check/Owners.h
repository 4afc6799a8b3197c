// SPDX-License-Identifier: Apache-2.0
// Which threads of a block access which elements: whether two accesses meet in one thread only follows from their layouts.
#ifndef FATTN_COMPILER_GPU_CHECK_OWNERS_H
#define FATTN_COMPILER_GPU_CHECK_OWNERS_H

#include <map>

#include "compiler/gpu/check/Program.h"

namespace fattn::check {

/// What runs in order by itself: a thread, as the language of the hardware has it, or a warp, whose lanes then count as one.
enum class Agent : std::uint8_t { Thread, Warp };

class Owners {
 public:
  Owners(const Program& program, Agent agent) : program(program), agent(agent) {}

  /// Whether every element that both access is accessed by one and the same agent only, or warp, where an engine makes one of the accesses
  /// for it. The numbers are of Program::accessors.
  bool same(int first, int second);

 private:
  static constexpr int kNobody = -1, kSeveral = -2;
  using Map = std::vector<int>;  ///< by element in row-major order
  const Map& mapOf(int accessor, Agent by);
  Map compute(const Accessor& accessor, Agent by) const;

  const Program& program;
  Agent agent;
  std::map<std::pair<int, Agent>, Map> maps;
  std::map<std::pair<int, int>, bool> known;
};

}  // namespace fattn::check

#endif
