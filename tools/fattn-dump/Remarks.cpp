// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/gpu/Fragments.h"
#include "runtime/base/TargetName.h"
#include "tools/fattn-dump/Accesses.h"
#include "tools/fattn-dump/LineTables.h"

namespace fattn::dump {
namespace {

constexpr int kWidest = 16;  // bytes that an instruction of a thread moves at most

/// "8 loads", "1 load".
std::string counted(int count, const char* one, const char* many) { return fmt::format("{} {}", count, count == 1 ? one : many); }

bool isSpill(Move move) { return move == Move::SpillStore || move == Move::SpillLoad; }

/// `bytes` of one access; of spills, of all.
std::string sentence(Move move, int count, int bytes) {
  const auto of = [&](const char* one, const char* many, const char* where) {
    return fmt::format("{} of {} {} a thread{}", counted(count, one, many), bytes, bytes == 1 ? "byte" : "bytes", where);
  };
  switch (move) {
    case Move::Load:
      return of("load", "loads", " from global memory");
    case Move::Store:
      return of("store", "stores", " to global memory");
    case Move::Copy:
      return of("copy", "copies", " from global to shared memory");
    case Move::Atomic:
      return of("atomic operation", "atomic operations", " on global memory");
    case Move::SharedLoad:
      return of("load", "loads", " from shared memory");
    case Move::SharedStore:
      return of("store", "stores", " to shared memory");
    case Move::SpillStore:
      return fmt::format("{} of registers that spill, {} bytes", counted(count, "store", "stores"), bytes);
    case Move::SpillLoad:
      return fmt::format("{} of registers that spilled, {} bytes", counted(count, "load", "loads"), bytes);
    case Move::Boxes:
      break;
  }
  return fmt::format("{} of whole boxes by the copy engine", counted(count, "copy", "copies"));
}

/// What accesses of one line, kind and size have in common.
struct Group {
  int count = 0, bytes = 0, conflicting = 0, unknown = 0;
  layout::BankPasses worst;

  void add(const Access& access) {
    ++count;
    bytes += access.bytes;
    const bool isShared = access.move == Move::SharedLoad || access.move == Move::SharedStore;
    if (!access.banks) {
      unknown += isShared ? 1 : 0;
    } else if (access.banks->passes > access.banks->ideal) {
      ++conflicting;
      if (access.banks->passes > worst.passes) worst = *access.banks;
    }
  }
};

using Place = std::tuple<std::string, unsigned, Move, int>;  // file, line, move, bytes; spills of all sizes are one

std::vector<Access> allAccesses(const Options& options, const Compilation& compilation) {
  const TargetName target = parseTarget(options.target);
  const layout::Banks banks = target.isChip() ? gpu::banksOf(gpu::findTarget(options.target)) : layout::Banks();
  std::vector<Access> all;
  const auto add = [&](Stage stage) {
    readLineTables(stage);
    for (Access& access : accessesOf(stage, banks)) all.push_back(std::move(access));
  };
  for (Kind kind : {Kind::Ptx, Kind::Asm})
    if (const Stage* stage = compilation.find(kind)) add(*stage);
  for (const Stage& stage : compilation.stages)
    if (stage.extension == "sass") add(stage);
  return all;
}

/// Of the accesses of shared memory as a whole, whose conflicts stand at their lines.
std::string bankRemark(const std::map<Place, Group>& groups) {
  int shared = 0, conflicting = 0, unknown = 0;
  for (const auto& [place, group] : groups) {
    if (std::get<Move>(place) != Move::SharedLoad && std::get<Move>(place) != Move::SharedStore) continue;
    shared += group.count;
    conflicting += group.conflicting;
    unknown += group.unknown;
  }
  if (shared == 0 || shared == unknown) return "";
  return fmt::format("kernel: bank conflicts: {} of {}{}\n", conflicting == 0 ? "none" : fmt::format("{}", conflicting),
                     counted(shared - unknown, "access", "accesses"),
                     unknown == 0 ? "" : fmt::format("; of {} more the addresses are not known here", unknown));
}

/// Why accesses are narrower than they may be, as far as it is the caller's to change.
std::string widthRemark(const std::map<Place, Group>& groups, const std::vector<std::string>& undivided) {
  int narrow = 0;
  for (const auto& [place, group] : groups) {
    const Move move = std::get<Move>(place);
    if ((move == Move::Load || move == Move::Store || move == Move::Copy) && std::get<int>(place) < kWidest) narrow += group.count;
  }
  if (narrow == 0 || undivided.empty()) return "";
  return fmt::format(
      "kernel: {} of global memory below {} bytes; these arguments come without a divisibility, which wide accesses need of pointers "
      "and strides: {}\n",
      counted(narrow, "access", "accesses"), kWidest, fmt::join(undivided, ", "));
}

}  // namespace

std::string remarksOf(const Options& options, const Compilation& compilation, const std::optional<Usage>& usage) {
  std::map<Place, Group> groups;
  for (const Access& access : allAccesses(options, compilation)) {
    const compiler::SourceLine line = access.line.value_or(compiler::SourceLine{});
    groups[{line.file, line.line, access.move, isSpill(access.move) ? 0 : access.bytes}].add(access);
  }
  std::string text;
  for (const auto& [place, group] : groups) {
    const auto& [file, line, move, bytes] = place;
    text += file.empty() ? "no source line: " : fmt::format("{}:{}: ", file, line);
    text += sentence(move, group.count, isSpill(move) ? group.bytes : bytes);
    if (group.conflicting > 0)
      text += fmt::format("; {} of them with bank conflicts: {} passes where {} would do", group.conflicting, group.worst.passes,
                          group.worst.ideal);
    text += '\n';
  }
  text += bankRemark(groups) + widthRemark(groups, compilation.undivided);
  for (const Fact& fact : collectFacts(options, compilation, usage))
    text += fmt::format("kernel: {}: {} ({})\n", fact.label, fact.value, fact.note);
  if (compilation.mix && !compilation.mix->loop.empty())
    text += fmt::format("kernel: inner loop at {}: {}\n", compilation.mix->loop, mixLine(compilation.mix->inLoop));
  if (parseTarget(options.target).kind != TargetKind::Nvidia) return text;
  if (!usage) return text + "kernel: registers, spills and occupancy are not known: NVIDIA's ptxas is not in PATH\n";
  const bool hasSass = std::ranges::any_of(compilation.stages, [](const Stage& stage) { return stage.extension == "sass"; });
  if (usage->spillStores + usage->spillLoads > 0 && !hasSass)
    text += "kernel: which lines spill is not known: NVIDIA's nvdisasm is not in PATH\n";
  return text;
}

}  // namespace fattn::dump
