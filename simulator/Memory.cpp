// SPDX-License-Identifier: Apache-2.0
#include "simulator/Memory.h"

#include <fmt/format.h>

#include <utility>

namespace fattn::simulator {

std::uint64_t Memory::add(std::string name, std::span<std::byte> bytes, Use use, std::uint32_t misalignment) {
  // In the middle of its slot, so that a negative offset leads into the same slot's empty part and is named by this buffer.
  std::uint64_t address = ((buffers_.size() + 1) << kSlotBits) + (std::uint64_t{1} << (kSlotBits - 1)) + misalignment;
  buffers_.push_back({std::move(name), address, bytes.size(), bytes.data(), use});
  return address;
}

std::string Memory::explain(std::uint64_t address, std::uint64_t size, bool write) const {
  std::string access = fmt::format("{} {} bytes at {:#x}", write ? "writes" : "reads", size, address);
  std::uint64_t slot = address >> kSlotBits;
  if (slot - 1 >= buffers_.size()) return access + ", where no buffer is";
  const Buffer& buffer = buffers_[slot - 1];
  if (address < buffer.address)
    return fmt::format("{}, {} bytes before the begin of {} ({} bytes)", access, buffer.address - address, buffer.name, buffer.size);
  std::uint64_t end = address - buffer.address + size;
  if (end > buffer.size)
    return fmt::format("{}, which ends {} bytes past the end of {} ({} bytes)", access, end - buffer.size, buffer.name, buffer.size);
  return fmt::format("{}, in {}, which may only be read", access, buffer.name);
}

}  // namespace fattn::simulator
