// SPDX-License-Identifier: Apache-2.0
// What the instructions share that access global, private and local memory.
#ifndef FATTN_SIMULATOR_MEMORYOPS_H
#define FATTN_SIMULATOR_MEMORYOPS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "simulator/Wave.h"

namespace fattn::simulator {

/// A range of global memory with checked ends, as four scalar registers describe it.
struct Resource {
  std::uint64_t base = 0, bytes = 0;
};
Resource readResource(const Wave& wave, const Operand& operand);

/// "dwordx4", "b128", "ushort", "short_d16_hi", "d16_hi_b16" ... of a load or a store.
std::optional<Access> accessOf(std::string_view suffix, Access::Kind kind);

/// Where each lane's bytes are; nullptr reads zeros and writes nothing.
using Places = std::array<std::byte*, 64>;

/// What is loaded from `bytes` into the registers from `index` on, in one lane.
void receiveLane(Wave& wave, const Access& access, int index, int lane, const std::byte* bytes);
/// What a store writes of the registers from `index` on, in one lane.
void sendLane(Wave& wave, const Access& access, int index, int lane, std::byte* into);
/// The registers of a load: from the operand's on, in the lanes of EXEC; they may be read when a wait covers the load.
void receiveIssued(Wave& wave, const Instruction& instruction, std::uint8_t counters, bool inOrder);

/// Stops the kernel where the address is no multiple of the access's bytes, or of `most`.
void checkAlignment(std::uint64_t address, const Access& access, std::uint64_t most, int lane);

/// Does what the instruction's access says at these places of global memory: load, store, atomic operation, or load to local memory.
/// `data` is the operand that is stored, or nullptr.
void accessGlobal(Wave& wave, const Instruction& instruction, const Places& places, const Operand* data, bool maybeLocal = false);

/// Number of an atomic operation by its name ("add", "add_f32" ...); 0 where there is none, and the bytes it works on.
struct AtomicForm {
  std::uint8_t number = 0, bytes = 0;
};
AtomicForm atomicOf(std::string_view name);
/// The value that the operation leaves, of 4 or 8 bytes.
std::uint64_t applyAtomic(std::uint8_t number, std::uint64_t old, std::uint64_t operand, std::uint64_t compared);

}  // namespace fattn::simulator

#endif
