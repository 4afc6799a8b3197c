// SPDX-License-Identifier: Apache-2.0
// The memory that the waves of a workgroup share, with what is known of each byte: never written, by whom it was written or read since the
// last barrier, and whether the write may still be on its way.
#ifndef FATTN_SIMULATOR_LDS_H
#define FATTN_SIMULATOR_LDS_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fattn::simulator {

/// Bytes that one instruction of a wave accesses: `bytes` at each lane's address.
struct LdsAccess {
  std::uint64_t lanes = 0;
  std::uint32_t bytes = 0;
  std::uint32_t addresses[64] = {};
};

class Lds {
 public:
  static constexpr int kMaxWaves = 32;

  /// All bytes are poison from now on.
  void reset(std::uint32_t size);
  std::uint32_t size() const { return size_; }

  void read(int wave, int lane, std::uint64_t address, std::uint32_t bytes, void* into) {
    std::uint32_t at = check(address, bytes, lane);
    for (std::uint32_t i = 0; i < bytes; ++i)
      if (std::uint8_t state = writers_[at + i]; state != kSettled && state != mark(wave)) checkRead(wave, lane, at + i);
    for (std::uint32_t i = 0; i < bytes; ++i) noteReader(at + i, mark(wave));
    std::memcpy(into, &bytes_[at], bytes);
  }

  /// Waves may write what another one has written since the last barrier: compilers let each write what all of them hold.
  void write(int wave, int lane, std::uint64_t address, std::uint32_t bytes, const std::byte* from) {
    std::uint32_t at = check(address, bytes, lane);
    for (std::uint32_t i = 0; i < bytes; ++i) {
      bool changes = writers_[at + i] <= kSettled || bytes_[at + i] != from[i];
      if (std::uint8_t state = writers_[at + i]; state > kSettled && state != mark(wave) && (changes || (state & kHidden) != 0))
        checkOverwrite(wave, lane, at + i);
      if (std::uint8_t state = readers_[at + i]; state != 0 && state != mark(wave) && changes) reportWriteAfterRead(wave, lane, at + i);
      writers_[at + i] = mark(wave);
      bytes_[at + i] = from[i];
    }
  }

  void checkBounds(std::uint64_t address, std::uint32_t bytes, int lane) const { check(address, bytes, lane); }

  /// All waves have met: what was written is everybody's from now on.
  void barrier();
  /// The write may still be on its way: nobody else may touch its bytes, and with `hidden` not even the wave itself.
  void markInFlight(int wave, const LdsAccess& write, bool hidden);
  /// A wait of its wave covers the write; other waves need a barrier behind that.
  void markLanded(int wave, const LdsAccess& write);
  /// A read from before a barrier that no wait covers yet: nobody else may write its bytes.
  void markReading(int wave, const LdsAccess& read);

 private:
  static constexpr std::uint8_t kPoison = 0, kSettled = 1, kInFlight = 0x80, kHidden = 0x40, kSeveral = 0x3f;
  static std::uint8_t mark(int wave) { return static_cast<std::uint8_t>(wave + 2); }
  static int waveOf(std::uint8_t state) { return (state & 0x3f) - 2; }
  void noteReader(std::uint32_t at, std::uint8_t who) {
    std::uint8_t& state = readers_[at];
    if (state != who) state = state == 0 ? who : kSeveral;
  }
  std::uint32_t check(std::uint64_t address, std::uint32_t bytes, int lane) const {
    if (address + bytes > size_) reportBounds(address, bytes, lane);
    return static_cast<std::uint32_t>(address);
  }
  [[noreturn]] void reportBounds(std::uint64_t address, std::uint32_t bytes, int lane) const;
  void checkRead(int wave, int lane, std::uint32_t at) const;
  void checkOverwrite(int wave, int lane, std::uint32_t at) const;
  [[noreturn]] void reportWriteAfterRead(int wave, int lane, std::uint32_t at) const;

  std::uint32_t size_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::uint8_t> writers_, readers_;
};

}  // namespace fattn::simulator

#endif
