// SPDX-License-Identifier: Apache-2.0
// Loads into scalar registers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "simulator/MemoryOps.h"
#include "simulator/ScalarFunctions.h"

namespace fattn::simulator {
namespace {

/// Offsets are a constant, a register, or both.
std::uint64_t offsetOf(const Wave& wave, const Instruction& instruction) {
  std::uint64_t offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(instruction.offset));
  if (!instruction.has(1)) return offset;
  const Operand& operand = instruction.source(1);
  if (operand.kind == Operand::Constant) return offset + static_cast<std::uint64_t>(static_cast<std::int32_t>(operand.value));
  wave.checkDefined(operand, "the offset");
  return offset + wave.scalar(operand);
}

void receive(Wave& wave, const Instruction& instruction, const void* bytes) {
  const Operand& destination = instruction.operands[0];
  std::size_t count = std::max(1U, instruction.access.bytes / 4U);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t value = 0;
    if (bytes != nullptr)
      std::memcpy(&value, static_cast<const std::byte*>(bytes) + i * 4, std::min<std::size_t>(instruction.access.bytes, 4));
    if (instruction.access.signExtend)
      value =
          static_cast<std::uint32_t>(instruction.access.bytes == 1 ? static_cast<std::int8_t>(value) : static_cast<std::int16_t>(value));
    wave.setScalar(destination.index + static_cast<int>(i), value);
  }
  wave.counters.issue({.counters = Counters::bit(wave.chip().hasSplitCounters() ? Counter::Scalars : Counter::Local),
                       .inOrder = false,
                       .source = &instruction,
                       .registers = Operand::Scalar,
                       .first = destination.index,
                       .count = static_cast<std::uint16_t>(count)});
}

void loadScalars(Wave& wave, const Instruction& instruction) {
  const Operand& base = instruction.source(0);
  wave.checkDefined(base, "the address");
  std::uint64_t address = wave.scalar64(base) + offsetOf(wave, instruction);
  if (std::uint64_t needed = std::min<std::uint64_t>(instruction.access.bytes, 4); address % needed != 0)
    violate(fmt::format("loads from the address {:#x}, which is no multiple of {}", address, needed));
  const std::byte* bytes = wave.group->memory->find(address, instruction.access.bytes, false);
  if (bytes == nullptr) violate(wave.group->memory->explain(address, instruction.access.bytes, false));
  receive(wave, instruction, bytes);
}

void loadScalarsOfBuffer(Wave& wave, const Instruction& instruction) {
  Resource resource = readResource(wave, instruction.source(0));
  std::uint64_t offset = offsetOf(wave, instruction);
  if (offset >= resource.bytes) return receive(wave, instruction, nullptr);
  if (resource.bytes - offset < instruction.access.bytes) violate("loads across the end of a buffer's range");
  const std::byte* bytes = wave.group->memory->find(resource.base + offset, instruction.access.bytes, false);
  if (bytes == nullptr) violate(wave.group->memory->explain(resource.base + offset, instruction.access.bytes, false));
  receive(wave, instruction, bytes);
}

/// "b128" or "dwordx4" in bytes; 0 for anything else.
std::uint32_t widthOf(std::string_view text) {
  std::uint32_t number = 1;
  bool dwords = text.starts_with("dword");
  if (dwords) text.remove_prefix(5);
  if (dwords && text.empty()) return 4;
  if (text.empty() || (text[0] != 'x' && text[0] != 'b') || (text[0] == 'x') != dwords) return 0;
  auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  return dwords ? number * 4 : number / 8;
}

}  // namespace

std::optional<Row> scalarLoadRow(std::string_view mnemonic) {
  bool ofBuffer = mnemonic.starts_with("s_buffer_load_");
  if (!ofBuffer && !mnemonic.starts_with("s_load_")) return std::nullopt;
  std::string_view form = mnemonic.substr(ofBuffer ? 14 : 7);
  Row row = ownRow("", ofBuffer ? loadScalarsOfBuffer : loadScalars, 1);
  if (form == "u8" || form == "i8" || form == "u16" || form == "i16") {  // gfx12
    row.access.bytes = form.ends_with("8") ? 1 : 2;
    row.access.signExtend = form.starts_with("i");
    return row;
  }
  std::uint32_t bytes = widthOf(form);
  if (bytes < 4 || bytes > 64) return std::nullopt;
  row.access.bytes = static_cast<std::uint8_t>(bytes);
  return row;
}

}  // namespace fattn::simulator
