// SPDX-License-Identifier: Apache-2.0
#include "simulator/MemoryOps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "simulator/Fault.h"

namespace fattn::simulator {
namespace {

struct NamedAccess {
  std::string_view name;
  std::uint8_t bytes;
  bool signExtend;
  std::uint8_t half;
};
constexpr NamedAccess kForms[] = {
    {"ubyte", 1, false, 0},      {"u8", 1, false, 0},          {"sbyte", 1, true, 0},         {"i8", 1, true, 0},
    {"byte", 1, false, 0},       {"b8", 1, false, 0},          {"ushort", 2, false, 0},       {"u16", 2, false, 0},
    {"sshort", 2, true, 0},      {"i16", 2, true, 0},          {"short", 2, false, 0},        {"b16", 2, false, 0},
    {"short_d16", 2, false, 1},  {"d16_b16", 2, false, 1},     {"u16_d16", 2, false, 1},      {"short_d16_hi", 2, false, 2},
    {"sbyte_d16", 1, true, 1},   {"sbyte_d16_hi", 1, true, 2}, {"d16_i8", 1, true, 1},        {"d16_hi_i8", 1, true, 2},
    {"i8_d16", 1, true, 1},      {"i8_d16_hi", 1, true, 2},    {"d16_hi_b16", 2, false, 2},   {"u16_d16_hi", 2, false, 2},
    {"b16_d16_hi", 2, false, 2}, {"ubyte_d16", 1, false, 1},   {"ubyte_d16_hi", 1, false, 2}, {"d16_u8", 1, false, 1},
    {"d16_hi_u8", 1, false, 2},  {"u8_d16", 1, false, 1},      {"u8_d16_hi", 1, false, 2},    {"byte_d16_hi", 1, false, 2},
    {"d16_hi_b8", 1, false, 2},  {"b8_d16_hi", 1, false, 2},   {"dword", 4, false, 0},        {"b32", 4, false, 0},
    {"dwordx2", 8, false, 0},    {"b64", 8, false, 0},         {"dwordx3", 12, false, 0},     {"b96", 12, false, 0},
    {"dwordx4", 16, false, 0},   {"b128", 16, false, 0},
};

std::uint32_t extended(const Access& access, std::uint32_t value) {
  if (!access.signExtend) return value;
  return access.bytes == 1 ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value))
                           : static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
}

void storeGlobal(Wave& wave, const Instruction& instruction, const Places& places, const Operand& data) {
  wave.checkDefined(data, "what is stored");
  for (int lane = 0; lane < wave.lanes; ++lane)
    if (std::byte* place = places[static_cast<std::size_t>(lane)]; wave.active(lane) && place != nullptr)
      sendLane(wave, instruction.access, data.index, lane, place);
}

void updateGlobal(Wave& wave, const Instruction& instruction, const Places& places, const Operand& data) {
  wave.checkDefined(data, "the operand of an atomic operation");
  std::size_t bytes = instruction.access.bytes;
  int words = static_cast<int>(bytes / 4);
  auto value = [&](int index, int lane) {
    std::uint64_t low = wave.row(index)[lane];
    return words == 2 ? low | static_cast<std::uint64_t>(wave.row(index + 1)[lane]) << 32 : low;
  };
  int result = instruction.operands[0].index;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!wave.active(lane)) continue;
    std::byte* place = places[static_cast<std::size_t>(lane)];
    std::uint64_t old = 0;
    if (place != nullptr) {
      std::memcpy(&old, place, bytes);
      std::uint64_t compared = data.dwords > words ? value(data.index + words, lane) : 0;
      std::uint64_t updated = applyAtomic(instruction.parameter, old, value(data.index, lane), compared);
      std::memcpy(place, &updated, bytes);
    }
    if (!instruction.returns) continue;
    wave.row(result)[lane] = static_cast<std::uint32_t>(old);
    if (words == 2) wave.row(result + 1)[lane] = static_cast<std::uint32_t>(old >> 32);
  }
}

/// Into local memory: the lanes' values one after the other, from M0 on.
void loadToLocal(Wave& wave, const Instruction& instruction, const Places& places) {
  wave.checkDefined(Scalar::kM0, "the address in LDS (m0)");
  if (wave.signaled) violate("accesses LDS between the two halves of a barrier, where other waves may not have arrived");
  std::uint32_t each = std::max<std::uint32_t>(instruction.access.bytes, 4);
  std::uint64_t base = wave.scalars[Scalar::kM0] + static_cast<std::uint64_t>(static_cast<std::int64_t>(instruction.offset));
  LdsAccess written{.lanes = wave.exec, .bytes = each, .addresses = {}};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!wave.active(lane)) continue;
    std::uint64_t address = base + static_cast<std::uint64_t>(lane) * each;
    std::array<std::uint32_t, 4> value{};
    const std::byte* place = places[static_cast<std::size_t>(lane)];
    if (place != nullptr) std::memcpy(value.data(), place, instruction.access.bytes);
    if (each == 4) value[0] = extended(instruction.access, value[0]);
    wave.group->lds.write(wave.number, lane, address, each, std::as_bytes(std::span(value)).data());
    written.addresses[lane] = static_cast<std::uint32_t>(address);
  }
  wave.group->lds.markInFlight(wave.number, written, true);
  wave.counters.issue({.counters = Counters::bit(Counter::Loads), .source = &instruction, .lds = {written}, .hiddenFromItself = true});
}

}  // namespace

Resource readResource(const Wave& wave, const Operand& operand) {
  wave.checkDefined(operand, "the description of a buffer");
  auto word = [&](std::size_t i) { return wave.scalars[operand.index + i]; };
  Resource resource{word(0) | static_cast<std::uint64_t>(word(1) & 0xffff) << 32, word(2)};
  if ((word(1) & 0xffff0000) != 0)
    violate(fmt::format("uses a buffer with a stride or a swizzle (word 1 is {:#x}); only raw buffers are simulated", word(1)));
  return resource;
}

std::optional<Access> accessOf(std::string_view suffix, Access::Kind kind) {
  for (const NamedAccess& form : kForms)
    if (form.name == suffix) return Access{.kind = kind, .bytes = form.bytes, .signExtend = form.signExtend, .half = form.half};
  return std::nullopt;
}

void receiveLane(Wave& wave, const Access& access, int index, int lane, const std::byte* bytes) {
  std::array<std::uint32_t, 4> value{};
  if (bytes != nullptr) std::memcpy(value.data(), bytes, access.bytes);
  std::uint32_t& first = wave.row(index)[lane];
  // Chips with error correction write whole registers, so that the other half is lost; the others keep it.
  if (access.half != 0) {
    std::uint32_t other = wave.chip().isCdna() ? 0 : first & (access.half == 1 ? 0xffff0000 : 0xffff);
    first = other | (extended(access, value[0]) & 0xffff) << (access.half == 1 ? 0 : 16);
    return;
  }
  first = access.bytes < 4 ? extended(access, value[0]) : value[0];
  for (std::size_t word = 1; word < access.bytes / 4U; ++word) wave.row(index + static_cast<int>(word))[lane] = value[word];
}

void sendLane(Wave& wave, const Access& access, int index, int lane, std::byte* into) {
  std::array<std::uint32_t, 4> value{};
  for (std::size_t word = 0; word < std::max(1U, access.bytes / 4U); ++word) value[word] = wave.row(index + static_cast<int>(word))[lane];
  if (access.half == 2) value[0] >>= 16;
  std::memcpy(into, value.data(), access.bytes);
}

void receiveIssued(Wave& wave, const Instruction& instruction, std::uint8_t counters, bool inOrder) {
  const Operand& destination = instruction.operands[0];
  for (int i = 0; i < destination.dwords; ++i) wave.undefined(destination.index + i) &= ~wave.exec;
  wave.counters.issue({.counters = counters,
                       .inOrder = inOrder,
                       .source = &instruction,
                       .registers = Operand::Vector,
                       .first = destination.index,
                       .count = destination.dwords});
}

void checkAlignment(std::uint64_t address, const Access& access, std::uint64_t most, int lane) {
  std::uint64_t needed = std::min<std::uint64_t>(access.bytes, most);
  if (address % needed != 0)
    violate(fmt::format("accesses {} bytes at {:#x}, which is no multiple of {}", access.bytes, address, needed), lane);
}

void accessGlobal(Wave& wave, const Instruction& instruction, const Places& places, const Operand* data, bool maybeLocal) {
  const Access& access = instruction.access;
  wave.group->statistics.globalBytes += static_cast<std::uint64_t>(std::popcount(wave.exec)) * access.bytes;
  if (instruction.lds) return loadToLocal(wave, instruction, places);
  std::uint8_t local = maybeLocal ? Counters::bit(Counter::Local) : std::uint8_t{0};
  auto loads = static_cast<std::uint8_t>(Counters::bit(Counter::Loads) | local);
  if (access.kind == Access::Load) {
    for (int lane = 0; lane < wave.lanes; ++lane)
      if (wave.active(lane)) receiveLane(wave, access, instruction.operands[0].index, lane, places[static_cast<std::size_t>(lane)]);
    return receiveIssued(wave, instruction, loads, !maybeLocal);
  }
  if (access.kind == Access::Store)
    storeGlobal(wave, instruction, places, *data);
  else
    updateGlobal(wave, instruction, places, *data);
  if (access.kind == Access::Atomic && instruction.returns) return receiveIssued(wave, instruction, loads, !maybeLocal);
  Counter counter = wave.chip().storesCountAsLoads() ? Counter::Loads : Counter::Stores;
  wave.counters.issue(
      {.counters = static_cast<std::uint8_t>(Counters::bit(counter) | local), .inOrder = !maybeLocal, .source = &instruction});
}

}  // namespace fattn::simulator
