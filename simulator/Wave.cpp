// SPDX-License-Identifier: Apache-2.0
#include "simulator/Wave.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <string>

namespace fattn::simulator {
namespace {

std::string registerName(Operand::Kind kind, int index) {
  if (kind == Operand::Vector) return fmt::format("{}{}", index < 256 ? 'v' : 'a', index & 255);
  switch (index) {
    case Scalar::kVcc:
      return "vcc_lo";
    case Scalar::kVcc + 1:
      return "vcc_hi";
    case Scalar::kM0:
      return "m0";
    case Scalar::kExec:
      return "exec_lo";
    case Scalar::kExec + 1:
      return "exec_hi";
    default:
      return index >= Scalar::kTtmp && index < Scalar::kM0 ? fmt::format("ttmp{}", index - Scalar::kTtmp) : fmt::format("s{}", index);
  }
}

}  // namespace

void Wave::setExec(std::uint64_t value) {
  exec = value & allLanes;
  scalars[Scalar::kExec] = static_cast<std::uint32_t>(exec);
  scalars[Scalar::kExec + 1] = static_cast<std::uint32_t>(exec >> 32);
  for (std::size_t lane = 0; lane < 64; ++lane) execMask[lane] = 0 - static_cast<std::uint32_t>(exec >> lane & 1);
}

std::uint32_t Wave::scalar(const Operand& operand) const {
  if (operand.kind == Operand::Constant) return static_cast<std::uint32_t>(operand.value);
  if (operand.kind != Operand::Scalar) return 0;
  switch (operand.index) {
    case Scalar::kNull:
      return 0;
    case Scalar::kScc:
      return scc ? 1 : 0;
    case Scalar::kExecz:
      return exec == 0 ? 1 : 0;
    case Scalar::kVccz:
      return (scalars[Scalar::kVcc] | (lanes == 64 ? scalars[Scalar::kVcc + 1] : 0)) == 0 ? 1 : 0;
    default:
      return scalars[operand.index];
  }
}

std::uint64_t Wave::scalar64(const Operand& operand) const {
  if (operand.kind == Operand::Constant) return operand.value;
  if (operand.kind != Operand::Scalar || operand.index == Scalar::kNull) return 0;
  if (operand.dwords == 1) return scalar(operand);
  return scalars[operand.index] | static_cast<std::uint64_t>(scalars[operand.index + 1U]) << 32;
}

std::uint32_t Wave::scalarUndefined(const Operand& operand) const {
  if (operand.kind != Operand::Scalar || operand.index == Scalar::kNull) return 0;
  if (operand.index == Scalar::kScc) return sccUndefined ? ~0U : 0;
  return undefinedBits[operand.index];
}

std::uint64_t Wave::scalarUndefined64(const Operand& operand) const {
  if (operand.kind != Operand::Scalar || operand.index == Scalar::kNull) return 0;
  if (operand.dwords == 1) return scalarUndefined(operand);
  return undefinedBits[operand.index] | static_cast<std::uint64_t>(undefinedBits[operand.index + 1U]) << 32;
}

void Wave::setScalar(int index, std::uint32_t value, std::uint32_t undefined) {
  if (index == Scalar::kNull) return;
  auto at = static_cast<std::size_t>(index);
  if (index >= Scalar::kExec && index <= Scalar::kExec + 1) {
    if (undefined != 0 && (index == Scalar::kExec || lanes == 64)) violate("sets EXEC to a value that nobody has written");
    scalars[at] = value;
    setExec(scalars[Scalar::kExec] | static_cast<std::uint64_t>(scalars[Scalar::kExec + 1]) << 32);
    return;
  }
  scalars[at] = value;
  undefinedBits[at] = undefined;
}

void Wave::setScalar64(int index, std::uint64_t value, std::uint64_t undefined) {
  if (index == Scalar::kNull) return;
  if (index == Scalar::kExec) {
    if (undefined != 0) violate("sets EXEC to a value that nobody has written");
    return setExec(value);
  }
  setScalar(index, static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(undefined));
  setScalar(index + 1, static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(undefined >> 32));
}

void Wave::write(int index, const std::uint32_t* values, std::uint64_t mask) {
  std::uint32_t* into = row(index);
  if (mask == allLanes) {
    std::memcpy(into, values, static_cast<std::size_t>(lanes) * 4);
  } else if (mask == exec) {
    for (std::size_t lane = 0; lane < 64; ++lane) into[lane] = (values[lane] & execMask[lane]) | (into[lane] & ~execMask[lane]);
  } else {
    for (int lane = 0; lane < lanes; ++lane)
      if (mask >> lane & 1) into[lane] = values[lane];
  }
}

void Wave::checkWait(const Operand& operand, bool writes) const {
  const Outstanding* access = counters.pending(operand.kind, operand.index, operand.dwords);
  if (access == nullptr) return;
  // Loads of one kind fill registers in the order of their issue.
  if (writes && access->inOrder && current->category == access->source->category) return;
  violate(fmt::format("{} {}, which \"{}\" at kernel+{:#x} loads: no wait covers that load", writes ? "writes" : "reads",
                      registerName(operand.kind, std::max<int>(operand.index, access->first)), access->source->text,
                      access->source->address - group->entry));
}

void Wave::checkOperands(const Instruction& instruction) const {
  for (std::size_t i = 0; i < instruction.count; ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.kind == Operand::Vector) {
      int end = (operand.index & 255) + operand.dwords, has = operand.index < 256 ? vectors : accumulators;
      if (end > has)
        violate(fmt::format("names {}, where the kernel's descriptor gives it {} {} registers",
                            registerName(operand.kind, operand.index + operand.dwords - 1), has,
                            operand.index < 256 ? "vector" : "accumulation"));
    } else if (operand.kind != Operand::Scalar) {
      continue;
    }
    checkWait(operand, i < instruction.writes);
  }
}

void Wave::checkDefined(const Operand& operand, const char* what) const {
  if (operand.kind == Operand::Scalar) {
    for (int i = 0; i < operand.dwords; ++i) checkDefined(operand.index + i, what);
  } else if (operand.kind == Operand::Vector) {
    for (int i = 0; i < operand.dwords; ++i)
      if (std::uint64_t bad = undefinedLanes[slot(operand.index + i)] & exec)
        violate(fmt::format("{} is undefined: {} depends on a register that nobody has written", what,
                            registerName(operand.kind, operand.index + i)),
                std::countr_zero(bad));
  }
}

void Wave::checkDefined(int scalarIndex, const char* what) const {
  if (scalarIndex != Scalar::kNull && undefinedBits[static_cast<std::size_t>(scalarIndex)] != 0)
    violate(
        fmt::format("{} is undefined: {} depends on a register that nobody has written", what, registerName(Operand::Scalar, scalarIndex)));
}

void Wave::wait(Counter counter, int left) {
  counters.wait(counter, left, [&](const Outstanding& access) {
    if (access.readsLds) return;
    for (const LdsAccess& write : access.lds) group->lds.markLanded(number, write);
  });
}

}  // namespace fattn::simulator
