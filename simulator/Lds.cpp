// SPDX-License-Identifier: Apache-2.0
#include "simulator/Lds.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/Fault.h"

namespace fattn::simulator {

void Lds::reset(std::uint32_t size) {
  size_ = size;
  bytes_.assign(size, std::byte{0xcd});
  writers_.assign(size, kPoison);
  readers_.assign(size, 0);
}

void Lds::barrier() {
  for (std::uint8_t& state : writers_) state = state != kPoison ? kSettled : kPoison;
  std::ranges::fill(readers_, std::uint8_t{0});
}

void Lds::markInFlight(int wave, const LdsAccess& write, bool hidden) {
  for (int lane = 0; lane < 64; ++lane)
    if (write.lanes >> lane & 1)
      for (std::uint32_t i = 0; i < write.bytes; ++i)
        writers_[write.addresses[lane] + i] = static_cast<std::uint8_t>(mark(wave) | kInFlight | (hidden ? kHidden : 0));
}

void Lds::markLanded(int wave, const LdsAccess& write) {
  for (int lane = 0; lane < 64; ++lane)
    if (write.lanes >> lane & 1)
      for (std::uint32_t i = 0; i < write.bytes; ++i) {
        std::uint8_t& state = writers_[write.addresses[lane] + i];
        if ((state & kInFlight) != 0 && waveOf(state) == wave) state = mark(wave);
      }
}

void Lds::markReading(int wave, const LdsAccess& read) {
  for (int lane = 0; lane < 64; ++lane)
    if (read.lanes >> lane & 1)
      for (std::uint32_t i = 0; i < read.bytes; ++i) noteReader(read.addresses[lane] + i, mark(wave));
}

void Lds::reportBounds(std::uint64_t address, std::uint32_t bytes, int lane) const {
  violate(fmt::format("accesses {} bytes of LDS at {}, of {} that the workgroup has", bytes, address, size_), lane);
}

void Lds::checkRead(int wave, int lane, std::uint32_t at) const {
  std::uint8_t state = writers_[at];
  if (waveOf(state) == wave && (state & kHidden) == 0) return;  // the accesses of one wave stay in order
  if (state == kPoison) violate(fmt::format("reads LDS byte {}, which nobody has written", at), lane);
  if ((state & kInFlight) != 0)
    violate(fmt::format("reads LDS byte {} while a write of wave {} to it may be on its way: a wait in that wave{} is missing", at,
                        waveOf(state), waveOf(state) == wave ? "" : " before the barrier"),
            lane);
  violate(fmt::format("reads LDS byte {}, which wave {} has written since the last barrier", at, waveOf(state)), lane);
}

void Lds::checkOverwrite(int wave, int lane, std::uint32_t at) const {
  std::uint8_t state = writers_[at];
  if (waveOf(state) == wave) {
    if ((state & kHidden) == 0) return;
    violate(fmt::format("writes LDS byte {}, to which a load of its own is on its way: a wait is missing", at), lane);
  }
  violate(fmt::format("writes LDS byte {}, which wave {} has written since the last barrier", at, waveOf(state)), lane);
}

void Lds::reportWriteAfterRead(int wave, int lane, std::uint32_t at) const {
  std::string who = readers_[at] == kSeveral ? "several waves have" : fmt::format("wave {} has", waveOf(readers_[at]));
  violate(fmt::format("writes LDS byte {}, which {} read since the last barrier, or before it without a wait behind the read", at, who),
          lane);
}

}  // namespace fattn::simulator
