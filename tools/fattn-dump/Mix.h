// SPDX-License-Identifier: Apache-2.0
// How many instructions of which kind a kernel has, in all and in the loop where it works.
#ifndef FATTN_TOOLS_FATTN_DUMP_MIX_H
#define FATTN_TOOLS_FATTN_DUMP_MIX_H

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/driver/Stage.h"
#include "runtime/base/TargetName.h"

namespace fattn::dump {

/// In the order in which they are listed.
enum class Work : std::uint8_t {
  Matrix,
  Float,
  Special,
  Convert,
  Integer,
  Select,
  Move,
  Exchange,
  Global,
  Copy,
  Shared,
  Wait,
  Branch,
  Other
};
inline constexpr std::size_t kWorks = static_cast<std::size_t>(Work::Other) + 1;
std::string_view name(Work work);

struct Counts {
  std::array<int, kWorks> of = {};
  int total() const;
};

struct Mix {
  std::string code;  ///< "PTX", "GCN" or "x86-64 assembly"
  Counts kernel;
  std::string loop;                               ///< the label of the inner loop; empty where there is none
  std::optional<compiler::SourceLine> line = {};  ///< of its first dot or else instruction, where the text says it
  Counts inLoop;
};

/// Instructions as the text lists them. The inner loop is the one with the most products of a matrix unit, or else with the most
/// arithmetic, of which no smaller loop in it has a quarter; of equals, the shortest. Nothing for a stage that is no PTX and no
/// assembly ("s").
std::optional<Mix> mixOf(const compiler::Stage& stage, const std::string& target);

/// A table: a row a kind, with numbers and shares.
std::string mixText(const Mix& mix);
/// "412 instructions: matrix 8, arithmetic 96, ..."
std::string mixLine(const Counts& counts);

/// The work of an instruction by its name: "wgmma.mma_async.sync.aligned", "v_mfma_f32_32x32x8_f16", "vfmadd231ps". Of x86-64,
/// `operands` tell accesses of memory from moves.
Work workOf(std::string_view opcode, std::string_view operands, TargetKind kind);

}  // namespace fattn::dump

#endif
