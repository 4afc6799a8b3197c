// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/gpu/Occupancy.h"
#include "runtime/base/TargetName.h"

namespace fattn::dump {
namespace {

std::string bytes(long count) {
  if (count < 10 * 1024) return fmt::format("{} B", count);
  return fmt::format("{:.0f} KiB", static_cast<double>(count) / 1024);
}

int countOf(const std::string& text, std::string_view word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

Fact spills(long amount, const std::string& value, const std::string& note) {
  return {"spills", amount == 0 ? "none" : value, note, amount == 0 ? Tone::Good : Tone::Bad};
}

void addHost(const Compilation& compilation, std::vector<Fact>& facts) {
  if (const Stage* assembly = compilation.find(Kind::Asm)) {
    const int stores = countOf(assembly->text, "-byte Spill"), loads = countOf(assembly->text, "-byte Reload");
    const int wide = countOf(assembly->text, "64-byte Spill");
    facts.push_back(
        spills(stores, fmt::format("{} / {}", stores, loads),
               fmt::format("instructions that store registers to the stack, {} of them whole vectors, / that load them again", wide)));
    const bool zmm = assembly->text.find("%zmm") != std::string::npos, ymm = assembly->text.find("%ymm") != std::string::npos;
    facts.push_back({"vectors", zmm ? "512 bits" : ymm ? "256 bits" : "128 bits", "the widest registers in use"});
  }
  facts.push_back({"scratch a thread", bytes(compilation.binary.scratchBytes), "memory for tiles that do not stay in registers"});
  facts.push_back({"object", bytes(static_cast<long>(compilation.binary.bytes.size())), "relocatable file with line tables"});
}

void addNvidia(const Options& options, const Compilation& compilation, const std::optional<Usage>& usage, std::vector<Fact>& facts) {
  const compiler::Binary& binary = compilation.binary;
  const int registers = usage ? usage->registers : binary.registers;
  const long shared = std::max<long>(binary.sharedBytes, usage ? usage->sharedBytes : 0);
  if (registers > 0) facts.push_back({"registers a thread", fmt::format("{}", registers), "as ptxas assigned them"});
  facts.push_back({"shared memory", bytes(shared), "of one program"});
  facts.push_back({"threads", fmt::format("{}", binary.threads), fmt::format("of one program: {} warps", binary.threads / 32)});
  if (usage)
    facts.push_back(spills(usage->spillStores + usage->spillLoads, fmt::format("{} / {} B", usage->spillStores, usage->spillLoads),
                           "bytes of local memory stored / loaded, counted in the code"));
  if (registers > 0 && binary.threads > 0) {
    const Occupancy o = occupancyOf(options.target, binary.threads, registers, shared);
    facts.push_back(
        {"occupancy", fmt::format("{} of {} warps", o.warps, o.maxWarps),
         fmt::format("{} programs fit on an SM; {} {} the limit", o.programs, o.limit, o.limit == "shared memory" ? "is" : "are")});
  }
}

void addAmd(const Options& options, const Compilation& compilation, std::vector<Fact>& facts) {
  const compiler::Binary& binary = compilation.binary;
  const int lanes = gpu::findTarget(options.target).warpSize;
  facts.push_back({"vector registers", fmt::format("{}", binary.registers), "of a lane, with those for accumulation"});
  facts.push_back({"scalar registers", fmt::format("{}", binary.scalarRegisters), "of a wave"});
  facts.push_back({"shared memory", bytes(binary.sharedBytes), "of one program, in the LDS"});
  facts.push_back({"threads", fmt::format("{}", binary.threads), fmt::format("of one program: {} waves", binary.threads / lanes)});
  facts.push_back(spills(binary.spillBytes, bytes(binary.spillBytes), "of a lane's registers in scratch memory"));
  const Occupancy o = occupancyOf(options.target, binary.threads, binary.registers, binary.sharedBytes);
  facts.push_back(
      {"occupancy", fmt::format("{} of {} waves", o.warps, o.maxWarps),
       fmt::format("{} programs fit on a compute unit; {} {} the limit", o.programs, o.limit, o.limit == "shared memory" ? "is" : "are")});
  facts.push_back({"object", bytes(static_cast<long>(binary.bytes.size())), "code object"});
}

}  // namespace

Occupancy occupancyOf(const std::string& target, int threads, int registers, long sharedBytes) {
  const gpu::Target& machine = gpu::findTarget(target);
  const int warps = (threads + machine.warpSize - 1) / machine.warpSize;
  const gpu::Occupancy found = gpu::occupancyOf(machine, {.warps = warps, .registers = registers, .sharedBytes = sharedBytes});
  return {found.blocks, found.blocks * warps, machine.maxWarps, std::string(found.limit)};
}

std::vector<Fact> collectFacts(const Options& options, const Compilation& compilation, const std::optional<Usage>& usage) {
  std::vector<Fact> facts;
  const TargetName target = parseTarget(options.target);
  if (target.isHost()) addHost(compilation, facts);
  if (target.kind == TargetKind::Nvidia) addNvidia(options, compilation, usage, facts);
  if (target.kind == TargetKind::Amd) addAmd(options, compilation, facts);
  return facts;
}

}  // namespace fattn::dump
