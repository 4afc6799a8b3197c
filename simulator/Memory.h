// SPDX-License-Identifier: Apache-2.0
// Global memory as kernels see it: named buffers, each alone in 16 GiB of addresses, so that whatever leaves one is in none.
#ifndef FATTN_SIMULATOR_MEMORY_H
#define FATTN_SIMULATOR_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace fattn::simulator {

class Memory {
 public:
  enum class Use : std::uint8_t { ReadWrite, ReadOnly };

  /// Makes the bytes visible to kernels; returns their address there, a multiple of 4096 plus `misalignment`. The bytes stay the caller's
  /// and must live as long as the memory is used.
  /// Throws Error{OutOfMemory} where there are kMostBuffers, or the bytes do not fit between two of them.
  std::uint64_t add(std::string name, std::span<std::byte> bytes, Use use = Use::ReadWrite, std::uint32_t misalignment = 0);
  /// Takes back the buffer at an address that add() returned. Addresses in it are in no buffer until all others have been given out once.
  void remove(std::uint64_t address);
  /// What messages call the buffer that an address lies in; nothing where it is in none.
  std::string* nameAt(std::uint64_t address);

  /// Buffers lie in [kBase, kEnd): where Linux and the sanitizers map nothing in a process on x86-64, so that an address is in a buffer or
  /// of the host, and below 2^47 as what a GPU's driver gives: gfx12 extends addresses of code from 48 bits with their sign.
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 45, kEnd = kBase + (std::uint64_t{1} << 43);
  static constexpr std::size_t kMostBuffers = 511;
  /// A buffer begins in the middle of its slot of addresses, so that a negative offset leads into the same slot's empty part and is named
  /// by this buffer; and not at the same place in each, so that what is off by 2^32 elements is in no other one.
  static constexpr int kSlotBits = 34;
  static constexpr std::uint64_t kMiddle = std::uint64_t{1} << (kSlotBits - 1), kStep = std::uint64_t{1} << 26, kSteps = 16;
  static constexpr std::uint64_t kMostBytes = kMiddle - kStep * kSteps;  ///< of a buffer that is not misaligned

  /// The bytes [address, address + size), or nullptr where not all of them lie in one buffer, or it may only be read.
  std::byte* find(std::uint64_t address, std::uint64_t size, bool write) const {
    std::uint64_t slot = slotOf(address);
    if (slot >= buffers_.size()) return nullptr;
    const Buffer& buffer = buffers_[slot];
    std::uint64_t offset = address - buffer.address;
    if (offset > buffer.size || buffer.size - offset < size || (write && buffer.use == Use::ReadOnly)) return nullptr;
    return buffer.bytes + offset;
  }
  /// Why find() returned nothing: "16 bytes past the end of q (1024 bytes)".
  std::string explain(std::uint64_t address, std::uint64_t size, bool write) const;

 private:
  struct Buffer {
    std::string name;
    std::uint64_t address, size;
    std::byte* bytes;
    Use use;
  };
  static std::uint64_t slotOf(std::uint64_t address) { return (address - kBase) >> kSlotBits; }

  std::vector<Buffer> buffers_;       ///< one that was removed has no bytes and no name
  std::deque<std::uint64_t> vacant_;  ///< slots of those, the first removed first
};

}  // namespace fattn::simulator

#endif
