// SPDX-License-Identifier: Apache-2.0
// Global memory as kernels see it: named buffers, each alone in 64 GiB of addresses, so that whatever leaves one is in none.
#ifndef FATTN_SIMULATOR_MEMORY_H
#define FATTN_SIMULATOR_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fattn::simulator {

class Memory {
 public:
  enum class Use : std::uint8_t { ReadWrite, ReadOnly };

  /// Makes the bytes visible to kernels; returns their address there, a multiple of 4096 plus `misalignment`. The bytes stay the caller's
  /// and must live as long as the memory is used.
  std::uint64_t add(std::string name, std::span<std::byte> bytes, Use use = Use::ReadWrite, std::uint32_t misalignment = 0);

  /// The bytes [address, address + size), or nullptr where not all of them lie in one buffer, or it may only be read.
  std::byte* find(std::uint64_t address, std::uint64_t size, bool write) const {
    std::uint64_t slot = address >> kSlotBits;
    if (slot - 1 >= buffers_.size()) return nullptr;
    const Buffer& buffer = buffers_[slot - 1];
    std::uint64_t offset = address - buffer.address;
    if (offset > buffer.size || buffer.size - offset < size || (write && buffer.use == Use::ReadOnly)) return nullptr;
    return buffer.bytes + offset;
  }
  /// Why find() returned nothing: "16 bytes past the end of q (1024 bytes)".
  std::string explain(std::uint64_t address, std::uint64_t size, bool write) const;

 private:
  static constexpr int kSlotBits = 36;
  struct Buffer {
    std::string name;
    std::uint64_t address, size;
    std::byte* bytes;
    Use use;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace fattn::simulator

#endif
