// SPDX-License-Identifier: Apache-2.0
// Global memory by addresses (global_, flat_), by checked ranges (buffer_), and a wave's own memory (scratch_).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "simulator/MemoryOps.h"
#include "simulator/Table.h"

namespace fattn::simulator {
namespace {

/// Operands in the order of the text, whatever it leaves out.
struct GlobalForm {
  const Operand* address;
  const Operand* data = nullptr;
  const Operand* base = nullptr;
};

GlobalForm formOf(const Instruction& instruction) {
  std::size_t at = instruction.writes;
  GlobalForm form{&instruction.operands[at++]};
  if (instruction.access.kind != Access::Load) form.data = &instruction.operands[at++];
  if (at < instruction.count) form.base = &instruction.operands[at];
  return form;
}

std::byte* placeAt(Wave& wave, const Instruction& instruction, std::uint64_t address, int lane) {
  const Access& access = instruction.access;
  bool writes = access.kind != Access::Load;
  // Loads and stores may begin anywhere (HSA sets the mode, and LLVM joins neighbours); atomic operations may not.
  if (access.kind == Access::Atomic) checkAlignment(address, access, 8, lane);
  std::byte* place = wave.group->memory->find(address, access.bytes, writes);
  if (place == nullptr) violate(wave.group->memory->explain(address, access.bytes, writes), lane);
  return place;
}

/// A base in scalar registers and 32 bits of each lane, or 64 bits of each lane.
template <bool flat>
void accessByAddress(Wave& wave, const Instruction& instruction) {
  GlobalForm form = formOf(instruction);
  wave.checkDefined(*form.address, "the address");
  bool based = form.base != nullptr && form.base->kind == Operand::Scalar && form.base->index != Scalar::kNull;
  std::uint64_t base = static_cast<std::uint64_t>(static_cast<std::int64_t>(instruction.offset));
  if (based) {
    wave.checkDefined(*form.base, "the address");
    base += wave.scalar64(*form.base);
  }
  Places places{};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!wave.active(lane)) continue;
    std::uint64_t address = base;
    if (form.address->kind == Operand::Vector) {
      address += wave.row(form.address->index)[lane];
      if (form.address->dwords == 2) address += static_cast<std::uint64_t>(wave.row(form.address->index + 1)[lane]) << 32;
    }
    places[static_cast<std::size_t>(lane)] = placeAt(wave, instruction, address, lane);
  }
  accessGlobal(wave, instruction, places, form.data, flat);
}

/// buffer_: data, offset of each lane (or off), four scalar registers that describe the range, a scalar offset.
void accessBuffer(Wave& wave, const Instruction& instruction) {
  std::size_t at = instruction.lds ? 0 : 1;
  const Operand &offset = instruction.operands[at], &description = instruction.operands[at + 1],
                &scalarOffset = instruction.operands[at + 2];
  if (instruction.idxen) violate("uses an index; only raw buffers are simulated");
  Resource resource = readResource(wave, description);
  wave.checkDefined(offset, "the offset");
  wave.checkDefined(scalarOffset, "the offset");
  std::uint64_t common = wave.scalar(scalarOffset);
  if (common >= std::uint64_t{1} << 31)
    violate(fmt::format("uses the scalar offset {:#x}, which is negative: range checks let it pass", common));
  std::uint64_t end = resource.bytes - std::min(resource.bytes, common);
  Places places{};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!wave.active(lane)) continue;
    std::uint64_t within = static_cast<std::uint32_t>(instruction.offset);
    if (instruction.offen) within += wave.row(offset.index)[lane];
    if (within >= end) continue;
    if (within + instruction.access.bytes > end)
      violate(fmt::format("accesses {} bytes at offset {} across the end of a buffer's range of {} bytes: what chips do there differs",
                          instruction.access.bytes, within + common, resource.bytes),
              lane);
    places[static_cast<std::size_t>(lane)] = placeAt(wave, instruction, resource.base + common + within, lane);
  }
  accessGlobal(wave, instruction, places, &instruction.operands[0]);
}

void checkScratch(const Scratch& scratch, const Access& access, std::int64_t offset, int lane) {
  if (offset < 0 || offset + access.bytes > scratch.bytesPerLane)
    violate(fmt::format("accesses {} bytes of its own memory at {}, of {} that a lane has", access.bytes, offset, scratch.bytesPerLane),
            lane);
}

/// Which of Scratch::bytes a lane's memory has at the offset.
std::size_t scratchIndex(const Scratch& scratch, std::int64_t offset, int lane) {
  return static_cast<std::size_t>(lane) * scratch.bytesPerLane + static_cast<std::size_t>(offset);
}

std::byte* scratchPlace(Scratch& scratch, std::size_t at) { return reinterpret_cast<std::byte*>(scratch.bytes.data() + at); }

/// What is undefined in registers stays so in memory.
void storeScratch(Wave& wave, const Access& access, int data, std::int64_t offset, int lane) {
  Scratch& scratch = wave.scratch;
  const std::size_t at = scratchIndex(scratch, offset, lane);
  sendLane(wave, access, data, lane, scratchPlace(scratch, at));
  for (std::size_t i = 0; i < access.bytes; ++i) {
    bool isUndefined = (wave.undefined(data + static_cast<int>(i / 4)) >> lane & 1) != 0;
    scratch.states[at + i] = isUndefined ? Scratch::Byte::Undefined : Scratch::Byte::Defined;
  }
}

using UndefinedLanes = std::array<std::uint64_t, 4>;  ///< of each register that is loaded

void loadScratch(Wave& wave, const Instruction& instruction, std::int64_t offset, int lane, UndefinedLanes& undefined) {
  Scratch& scratch = wave.scratch;
  const Access& access = instruction.access;
  const std::size_t at = scratchIndex(scratch, offset, lane);
  for (std::size_t i = 0; i < access.bytes; ++i) {
    Scratch::Byte state = scratch.states[at + i];
    if (state == Scratch::Byte::Unwritten)
      violate(fmt::format("reads byte {} of its own memory, which it has not written", offset + static_cast<std::int64_t>(i)), lane);
    if (state == Scratch::Byte::Undefined) undefined[i / 4] |= std::uint64_t{1} << lane;
  }
  receiveLane(wave, access, instruction.operands[0].index, lane, scratchPlace(scratch, at));
}

/// Behind all lanes of an access: who waits for it, and which registers are undefined now.
void issueScratch(Wave& wave, const Instruction& instruction, const UndefinedLanes& undefined) {
  if (instruction.access.kind == Access::Load) {
    receiveIssued(wave, instruction, Counters::bit(Counter::Loads), true);
    for (std::size_t word = 0; word < instruction.operands[0].dwords; ++word)
      wave.undefined(instruction.operands[0].index + static_cast<int>(word)) |= undefined[word];
    return;
  }
  wave.counters.issue(
      {.counters = Counters::bit(wave.chip().storesCountAsLoads() ? Counter::Loads : Counter::Stores), .source = &instruction});
}

/// The wave's own memory: an offset of each lane, a scalar one, a constant.
void accessScratch(Wave& wave, const Instruction& instruction) {
  GlobalForm form = formOf(instruction);
  const Access& access = instruction.access;
  wave.checkDefined(*form.address, "the address");
  if (form.base != nullptr) wave.checkDefined(*form.base, "the address");
  UndefinedLanes undefined{};
  std::int64_t common = instruction.offset;
  if (form.base != nullptr && form.base->kind == Operand::Scalar) common += wave.scalar(*form.base);
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!wave.active(lane)) continue;
    std::int64_t offset = common + (form.address->kind == Operand::Vector ? wave.row(form.address->index)[lane] : 0);
    checkScratch(wave.scratch, access, offset, lane);
    if (access.kind == Access::Store)
      storeScratch(wave, access, form.data->index, offset, lane);
    else
      loadScratch(wave, instruction, offset, lane, undefined);
  }
  issueScratch(wave, instruction, undefined);
}

Row globalOrBufferRow(Handler handler, const Access& access) {
  return {.name = "",
          .handler = handler,
          .writes = access.kind == Access::Load ? std::uint8_t{1} : std::uint8_t{0},
          .plainTaint = false,
          .access = access};
}

}  // namespace

std::optional<Row> globalRow(std::string_view mnemonic) {
  Handler handler = nullptr;
  for (auto [prefix, prefixHandler] : {std::pair<std::string_view, Handler>{"global_", accessByAddress<false>},
                                       {"flat_", accessByAddress<true>},
                                       {"buffer_", accessBuffer},
                                       {"scratch_", accessScratch}})
    if (mnemonic.starts_with(prefix)) handler = prefixHandler, mnemonic.remove_prefix(prefix.size());
  if (handler == nullptr) return std::nullopt;
  if (mnemonic.starts_with("atomic_") && handler != accessScratch) {
    AtomicForm form = atomicOf(mnemonic.substr(7));
    if (form.number == 0) return std::nullopt;
    Row row = globalOrBufferRow(handler, {.kind = Access::Atomic, .bytes = form.bytes});
    row.parameter = form.number;
    return row;
  }
  Access::Kind kind = mnemonic.starts_with("load_") ? Access::Load : Access::Store;
  if (kind == Access::Store && !mnemonic.starts_with("store_")) return std::nullopt;
  mnemonic.remove_prefix(kind == Access::Load ? 5 : 6);
  bool toLocal = kind == Access::Load && handler == accessByAddress<false> && mnemonic.starts_with("lds_");
  if (toLocal) mnemonic.remove_prefix(4);
  std::optional<Access> access = accessOf(mnemonic, kind);
  if (!access) return std::nullopt;
  Row row = globalOrBufferRow(handler, *access);
  if (toLocal) row.writes = 0;
  return row;
}

}  // namespace fattn::simulator
