// SPDX-License-Identifier: Apache-2.0
// LLVM's disassembler for one chip.
#ifndef FATTN_SIMULATOR_DISASSEMBLER_H
#define FATTN_SIMULATOR_DISASSEMBLER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace fattn::simulator {

class Disassembler {
 public:
  Disassembler(std::string_view chip, int lanes);
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  /// The text of the instruction at the begin of the bytes, and how many it takes. Empty where the bytes are none (then it takes 4).
  std::string text(std::span<const std::byte> bytes, std::uint64_t address, std::uint32_t& size);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fattn::simulator

#endif
