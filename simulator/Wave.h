// SPDX-License-Identifier: Apache-2.0
// The state of a wave, and of the workgroup it belongs to. What was never written is undefined: that follows the data, and stops a kernel
// where an undefined value becomes an address, stored data or a condition.
#ifndef FATTN_SIMULATOR_WAVE_H
#define FATTN_SIMULATOR_WAVE_H

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/Chip.h"
#include "simulator/Counters.h"
#include "simulator/Fault.h"
#include "simulator/Instruction.h"
#include "simulator/Lds.h"
#include "simulator/Memory.h"
#include "simulator/Statistics.h"
#include "simulator/Trace.h"

namespace fattn::simulator {

struct Workgroup {
  const Chip* chip = nullptr;
  const Memory* memory = nullptr;
  const std::vector<Instruction>* code = nullptr;
  std::uint64_t loadAddress = 0;  ///< what is added to the addresses of the ELF
  std::uint64_t entry = 0;        ///< of the kernel, in the ELF
  Lds lds;
  Statistics statistics;
  std::array<std::uint32_t, 3> id{};
};

/// A wave's own memory, lane after lane. Undefined values may be stored there: registers that are spilled hold such.
struct Scratch {
  enum class Byte : std::uint8_t { Unwritten, Undefined, Defined };
  std::uint32_t bytesPerLane = 0;
  std::vector<std::uint8_t> bytes;  ///< lane * bytesPerLane + offset
  std::vector<Byte> states;         ///< of each byte
};

struct Wave {
  enum class State : std::uint8_t { Running, AtBarrier, Ended };
  using Row = std::array<std::uint32_t, 64>;  ///< one register of all lanes

  Workgroup* group = nullptr;
  int number = 0;
  int lanes = 64;
  int vectors = 0, accumulators = 0;  ///< registers that it has: v0 .., and a0 .., which have the numbers from 256
  State state = State::Running;
  bool signaled = false;                 ///< between the two halves of a split barrier
  std::uint32_t next = 0;                ///< number of the next instruction
  const Instruction* current = nullptr;  ///< the one that is executed
  std::uint64_t exec = 0;
  std::uint64_t allLanes = 0;    ///< as many as a wave of the kernel has
  std::uint64_t startLanes = 0;  ///< those with a thread of the workgroup
  bool scc = false, sccUndefined = true;
  std::uint32_t mode = 0;  ///< rounding in bits 0 .. 3, denormals in bits 4 .. 7, as in the descriptor
  std::uint64_t executed = 0;
  Counters counters;
  Scratch scratch;
  std::vector<Executed>* trace = nullptr;  ///< where what is executed is noted, if anywhere

  alignas(64) std::array<std::uint32_t, Scalar::kCount> scalars{};
  std::array<std::uint32_t, Scalar::kCount> undefinedBits{};  ///< of each scalar register
  std::vector<Row> rows;                                      ///< 512 vector registers
  std::vector<std::uint64_t> undefinedLanes;                  ///< of each vector register
  alignas(64) Row execMask{};                                 ///< all ones in the lanes of EXEC

  std::uint32_t* row(int index) { return rows[static_cast<std::size_t>(index)].data(); }
  std::uint64_t& undefined(int index) { return undefinedLanes[static_cast<std::size_t>(index)]; }
  bool active(int lane) const { return (exec >> lane & 1) != 0; }
  const Chip& chip() const { return *group->chip; }

  void setExec(std::uint64_t value);
  /// A scalar operand or constant: 32 or 64 bits.
  std::uint32_t scalar(const Operand& operand) const;
  std::uint64_t scalar64(const Operand& operand) const;
  /// The mask of lanes in a scalar operand, as wide as the wave.
  std::uint64_t laneMask(const Operand& operand) const { return lanes == 64 ? scalar64(operand) : scalar(operand); }
  std::uint32_t scalarUndefined(const Operand& operand) const;
  std::uint64_t scalarUndefined64(const Operand& operand) const;
  std::uint64_t laneMaskUndefined(const Operand& operand) const {
    return lanes == 64 ? scalarUndefined64(operand) : scalarUndefined(operand);
  }
  void setScalar(int index, std::uint32_t value, std::uint32_t undefined = 0);
  void setScalar64(int index, std::uint64_t value, std::uint64_t undefined = 0);
  void setLaneMask(int index, std::uint64_t value, std::uint64_t undefined = 0) {
    lanes == 64 ? setScalar64(index, value, undefined)
                : setScalar(index, static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(undefined));
  }
  void setScc(bool value, bool undefined = false) { scc = value, sccUndefined = undefined; }

  /// Writes a register in the lanes of `mask`.
  void write(int index, const std::uint32_t* values, std::uint64_t mask);
  void write(int index, const std::uint32_t* values) { write(index, values, exec); }

  /// Stops the kernel where a register of the instruction waits for an access, or is none that the kernel has.
  void checkOperands(const Instruction& instruction) const;
  /// The same wait for a register that the instruction's text does not name.
  void checkWait(const Operand& operand, bool writes) const;
  /// Stops the kernel where `what` ("the address") is undefined in a lane of EXEC.
  void checkDefined(const Operand& operand, const char* what) const;
  void checkDefined(int scalarIndex, const char* what) const;
  void wait(Counter counter, int left);
};

}  // namespace fattn::simulator

#endif
