// SPDX-License-Identifier: Apache-2.0
#include "simulator/Memory.h"

#include <fmt/format.h>

#include <utility>

#include "fattn/Error.h"

namespace fattn::simulator {

std::uint64_t Memory::add(std::string name, std::span<std::byte> bytes, Use use, std::uint32_t misalignment) {
  if (bytes.size() > kMostBytes - misalignment)
    throw Error(ErrorCode::OutOfMemory,
                fmt::format("{} has {} bytes; a buffer of a simulated chip has at most {}", name, bytes.size(), kMostBytes));
  std::uint64_t slot = buffers_.size();
  if (slot < kMostBuffers) {
    buffers_.emplace_back();
  } else {
    if (vacant_.empty())
      throw Error(ErrorCode::OutOfMemory, fmt::format("a simulated chip has {} buffers already, as many as it can have", kMostBuffers));
    slot = vacant_.front();
    vacant_.pop_front();
  }
  std::uint64_t address = kBase + (slot << kSlotBits) + kMiddle + slot % kSteps * kStep + misalignment;
  buffers_[slot] = {std::move(name), address, bytes.size(), bytes.data(), use};
  return address;
}

void Memory::remove(std::uint64_t address) {
  std::uint64_t slot = slotOf(address);
  if (slot >= buffers_.size() || buffers_[slot].address != address)
    throw Error(ErrorCode::InvalidArgument, fmt::format("{:#x} is the begin of no buffer", address));
  buffers_[slot] = {};
  vacant_.push_back(slot);
}

std::string* Memory::nameAt(std::uint64_t address) {
  std::uint64_t slot = slotOf(address);
  bool inside = slot < buffers_.size() && address - buffers_[slot].address < buffers_[slot].size;
  return inside ? &buffers_[slot].name : nullptr;
}

std::string Memory::explain(std::uint64_t address, std::uint64_t size, bool write) const {
  std::string access = fmt::format("{} {} bytes at {:#x}", write ? "writes" : "reads", size, address);
  std::uint64_t slot = slotOf(address);
  if (slot >= buffers_.size()) return access + ", where no buffer is";
  const Buffer& buffer = buffers_[slot];
  if (buffer.address == 0) return access + ", where a buffer was that has been freed";
  if (address < buffer.address)
    return fmt::format("{}, {} bytes before the begin of {} ({} bytes)", access, buffer.address - address, buffer.name, buffer.size);
  std::uint64_t end = address - buffer.address + size;
  if (end > buffer.size)
    return fmt::format("{}, which ends {} bytes past the end of {} ({} bytes)", access, end - buffer.size, buffer.name, buffer.size);
  return fmt::format("{}, in {}, which may only be read", access, buffer.name);
}

}  // namespace fattn::simulator
