// SPDX-License-Identifier: Apache-2.0
#include "simulator/Fault.h"

#include <fmt/format.h>

namespace fattn::simulator {

std::string Fault::text() const {
  std::string place = lane < 0 ? fmt::format("wave {}", wave) : fmt::format("wave {}, lane {}", wave, lane);
  return fmt::format("kernel+{:#x}: {}: workgroup ({}, {}, {}), {}: {}", address, instruction, workgroup[0], workgroup[1], workgroup[2],
                     place, message);
}

void violate(std::string message, int lane) { throw Violation{std::move(message), lane}; }

}  // namespace fattn::simulator
