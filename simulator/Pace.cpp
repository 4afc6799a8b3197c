// SPDX-License-Identifier: Apache-2.0
#include "simulator/Pace.h"

#include <charconv>

namespace fattn::simulator {
namespace {

constexpr Pace kCdna3 = {.simds = 4,
                         .step = 4,
                         .transcendental = 16,
                         .transcendentalShares = true,
                         .matrixShares = false,
                         .matrixToVector = 12,
                         .halfRate = 256,
                         .byteRate = 512,
                         .floatRate = 32,
                         .ldsLatency = 64,
                         .memoryLatency = 800,
                         .ldsPasses = 1,
                         .memoryBytes = 64,
                         .registers = 512,
                         .registerGranule = 8,
                         .wavesPerSimd = 8,
                         .computeUnits = 304,
                         .dies = 8,
                         .gigahertz = 2.1,
                         .gigabytes = 5300,
                         .product = "MI300X"};

constexpr Pace kRdna3 = {.simds = 4,
                         .step = 1,
                         .transcendental = 4,
                         .transcendentalShares = false,
                         .matrixShares = true,
                         .matrixToVector = 4,
                         .halfRate = 128,
                         .byteRate = 128,
                         .floatRate = 128,
                         .ldsLatency = 80,
                         .memoryLatency = 800,
                         .ldsPasses = 2,
                         .memoryBytes = 128,
                         .registers = 1536,
                         .registerGranule = 24,
                         .wavesPerSimd = 16,
                         .computeUnits = 48,
                         .dies = 1,
                         .gigahertz = 2.5,
                         .gigabytes = 960,
                         .product = "RX 7900 XTX"};

constexpr Pace cdna4() {
  Pace pace = kCdna3;
  pace.halfRate = 512, pace.byteRate = 1024;
  pace.computeUnits = 256, pace.gigahertz = 2.4, pace.gigabytes = 8000, pace.product = "MI355X";
  return pace;
}
constexpr Pace kCdna4 = cdna4();

constexpr Pace rdna4() {
  Pace pace = kRdna3;
  pace.halfRate = 256, pace.byteRate = 512;
  pace.computeUnits = 32, pace.gigahertz = 2.97, pace.gigabytes = 640, pace.product = "RX 9070 XT";
  return pace;
}
constexpr Pace kRdna4 = rdna4();

}  // namespace

const Pace& paceOf(const Chip& chip) {
  switch (chip.generation) {
    case Generation::Cdna3:
      return kCdna3;
    case Generation::Cdna4:
      return kCdna4;
    case Generation::Rdna3:
      return kRdna3;
    case Generation::Rdna4:
      break;
  }
  return kRdna4;
}

int matrixClocks(const Pace& pace, std::string_view mnemonic) {
  // The sizes stand behind the type of the result, that of the operands behind the sizes.
  const std::size_t times = mnemonic.find('x', mnemonic.find('_', 2) + 1);
  std::size_t at = mnemonic.rfind('_', times) + 1;
  int products = 1;
  for (int i = 0; i < 3; ++i) {
    int size = 1;
    const auto [end, error] = std::from_chars(mnemonic.data() + at, mnemonic.data() + mnemonic.size(), size);
    products *= size;
    at = static_cast<std::size_t>(end - mnemonic.data()) + 1;
  }
  const std::string_view type = mnemonic.substr(at);
  const int rate = type.starts_with("f32") ? pace.floatRate : type.contains("f16") ? pace.halfRate : pace.byteRate;
  return products / rate;
}

}  // namespace fattn::simulator
