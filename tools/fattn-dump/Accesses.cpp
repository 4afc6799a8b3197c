// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Accesses.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "tools/fattn-dump/PtxAddresses.h"

namespace fattn::dump {
namespace {

/// Calls `visit` with each line of the text and its source.
template <typename Visit>
void forEachLine(const compiler::Stage& stage, Visit&& visit) {
  std::size_t at = 0;
  for (std::size_t i = 0; at < stage.text.size(); ++i) {
    const std::size_t end = std::min(stage.text.find('\n', at), stage.text.size());
    std::optional<compiler::SourceLine> source;
    if (i < stage.lines.size() && !stage.lines[i].empty()) source = stage.lines[i].front();
    visit(std::string_view(stage.text).substr(at, end - at), source);
    at = end + 1;
  }
}

int numberIn(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Bytes of "b32", "v4.b32" ...
int bytesOf(const std::vector<std::string_view>& opcode) {
  int bytes = opcode.back().size() > 1 ? numberIn(opcode.back().substr(opcode.back().find_first_of("0123456789"))) / 8 : 0;
  if (opcode.back() == "bf16x2" || opcode.back() == "f16x2") bytes = 4;
  if (std::ranges::find(opcode, "v2") != opcode.end()) bytes *= 2;
  if (std::ranges::find(opcode, "v4") != opcode.end()) bytes *= 4;
  return bytes;
}

std::optional<Access> ptxAccess(const PtxInstruction& instruction) {
  const std::vector<std::string_view>& opcode = instruction.opcode;
  const auto has = [&](std::string_view word) { return std::ranges::find(opcode, word) != opcode.end(); };
  if (opcode[0] == "ldmatrix" || opcode[0] == "stmatrix")
    return Access{.move = opcode[0] == "ldmatrix" ? Move::SharedLoad : Move::SharedStore, .bytes = has("x4") ? 16 : has("x2") ? 8 : 4};
  if (opcode[0] == "cp" && has("bulk") && has("tensor")) return Access{.move = Move::Boxes};
  if (opcode[0] == "cp" && has("async") && has("shared") && instruction.operands.size() > 2)
    return Access{.move = Move::Copy, .bytes = numberIn(instruction.operands[2])};
  if ((opcode[0] == "atom" || opcode[0] == "red") && has("global")) return Access{.move = Move::Atomic, .bytes = bytesOf(opcode)};
  const bool isLoad = opcode[0] == "ld";
  if (!isLoad && opcode[0] != "st") return std::nullopt;
  if (has("global")) return Access{.move = isLoad ? Move::Load : Move::Store, .bytes = bytesOf(opcode)};
  if (has("shared")) return Access{.move = isLoad ? Move::SharedLoad : Move::SharedStore, .bytes = bytesOf(opcode)};
  return std::nullopt;
}

/// What the banks do for an access of shared memory. Lanes of ldmatrix name rows of 16 bytes, as many as it loads matrices of 8.
std::optional<layout::BankPasses> banksOf(const PtxInstruction& instruction, const Access& access, const PtxLanes& lanes,
                                          const layout::Banks& banks) {
  const bool isMatrix = instruction.opcode[0] == "ldmatrix" || instruction.opcode[0] == "stmatrix";
  const bool isLoad = access.move == Move::SharedLoad;
  if ((!isLoad && access.move != Move::SharedStore) || instruction.operands.size() < 2) return std::nullopt;
  const auto addresses = lanes.addresses(instruction.operands[isLoad ? 1 : 0]);
  if (!addresses) return std::nullopt;
  const std::size_t count = isMatrix ? static_cast<std::size_t>(access.bytes) * 2 : kLanes;
  return layout::passesOfAccess(std::span(*addresses).first(count), isMatrix ? 16 : access.bytes, banks);
}

std::vector<Access> ptxAccesses(const compiler::Stage& stage, const layout::Banks& banks) {
  std::vector<Access> result;
  PtxLanes lanes;
  forEachLine(stage, [&](std::string_view line, const std::optional<compiler::SourceLine>& source) {
    const auto instruction = parsePtx(line);
    if (!instruction) return;
    lanes.execute(*instruction);
    auto access = ptxAccess(*instruction);
    if (!access) return;
    access->banks = banksOf(*instruction, *access, lanes, banks);
    access->line = source;
    result.push_back(*access);
  });
  return result;
}

std::string_view firstWord(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(begin, std::min(line.find_first_of(" \t;", begin), line.size()) - begin);
}

/// Bytes by the last word of an instruction's name: "dwordx4", "b128", "ushort", "short_d16_hi" ...
int bytesOfGcn(std::string_view type) {
  constexpr std::pair<std::string_view, int> kWords[] = {
      {"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"dword", 4}, {"b128", 16}, {"b96", 12}, {"b64", 8}, {"b32", 4},
      {"short", 2},    {"byte", 1},     {"u8", 1},      {"i8", 1},    {"b8", 1},    {"16", 2},   {"f64", 8}, {"32", 4}};
  for (const auto& [word, bytes] : kWords)
    if (type.find(word) != std::string_view::npos) return bytes;
  return 0;
}

std::optional<Access> gcnAccess(std::string_view word) {
  const std::size_t bar = word.find('_');
  if (bar == std::string_view::npos) return std::nullopt;
  const std::string_view space = word.substr(0, bar), rest = word.substr(bar + 1);
  const bool isLoad = rest.starts_with("load") || rest.starts_with("read");
  const bool isStore = rest.starts_with("store") || rest.starts_with("write");
  if (space == "scratch" && (isLoad || isStore))
    return Access{.move = isLoad ? Move::SpillLoad : Move::SpillStore, .bytes = bytesOfGcn(rest)};
  if (space == "ds" && (isLoad || isStore)) {
    const bool isPair = rest.find("read2") != std::string_view::npos || rest.find("write2") != std::string_view::npos ||
                        rest.find("_2addr") != std::string_view::npos;
    return Access{.move = isLoad ? Move::SharedLoad : Move::SharedStore, .bytes = bytesOfGcn(rest) * (isPair ? 2 : 1)};
  }
  if (space != "global" && space != "buffer" && space != "flat") return std::nullopt;
  if (rest.starts_with("atomic")) return Access{.move = Move::Atomic, .bytes = bytesOfGcn(rest)};
  if (isLoad || isStore) return Access{.move = isLoad ? Move::Load : Move::Store, .bytes = bytesOfGcn(rest)};
  return std::nullopt;
}

/// "# 32-byte Spill", "; 4-byte Folded Reload": LLVM's remarks where it moves a register to the stack and back.
std::optional<Access> spillAccess(std::string_view line) {
  const std::size_t at = line.find("-byte ");
  if (at == std::string_view::npos) return std::nullopt;
  const bool isStore = line.find("Spill", at) != std::string_view::npos;
  if (!isStore && line.find("Reload", at) == std::string_view::npos) return std::nullopt;
  const std::size_t digits = line.find_last_not_of("0123456789", at - 1) + 1;
  return Access{.move = isStore ? Move::SpillStore : Move::SpillLoad, .bytes = numberIn(line.substr(digits))};
}

/// STL and LDL are stores and loads of a thread's own memory ("CUDA Binary Utilities", "Instruction Set Reference").
std::optional<Access> sassAccess(std::string_view line) {
  for (const auto& [word, move] : {std::pair(" STL", Move::SpillStore), std::pair(" LDL", Move::SpillLoad)}) {
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos || (line[at + 4] != ' ' && line[at + 4] != '.')) continue;
    const std::string_view name = line.substr(at, line.find(' ', at + 1) - at);
    const bool has128 = name.find(".128") != std::string_view::npos, has64 = name.find(".64") != std::string_view::npos;
    return Access{.move = move, .bytes = has128 ? 16 : has64 ? 8 : 4};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Access> accessesOf(const compiler::Stage& stage, const layout::Banks& banks) {
  if (stage.extension == "ptx") return ptxAccesses(stage, banks);
  std::vector<Access> result;
  forEachLine(stage, [&](std::string_view line, const std::optional<compiler::SourceLine>& source) {
    auto access = stage.extension == "sass" ? sassAccess(line) : spillAccess(line);
    if (!access && stage.extension == "s") access = gcnAccess(firstWord(line));
    if (!access) return;
    access->line = source;
    result.push_back(*access);
  });
  return result;
}

}  // namespace fattn::dump
