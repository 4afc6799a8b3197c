// SPDX-License-Identifier: Apache-2.0
// The one place that takes a target's text apart. Whether there is such a device or chip is for others to say.
#ifndef FATTN_RUNTIME_BASE_TARGETNAME_H
#define FATTN_RUNTIME_BASE_TARGETNAME_H

#include <cstdint>
#include <string_view>

namespace fattn {

enum class TargetKind : std::uint8_t {
  Default,    ///< "": the machine's first device
  Host,       ///< "host", "host:avx2"
  Cuda,       ///< "cuda", "cuda:1", "cuda:1@sm_80"
  Hip,        ///< "hip", "hip:1"
  Simulated,  ///< "simulated:gfx942"
  Modelled,   ///< "modelled:gfx942"
  Nvidia,     ///< "nvidia:sm_90a": a chip, for which code can be made without a device
  Amd,        ///< "amd:gfx942": likewise
  Unknown,
};

/// The parts of a target. They are views of the text, which has to outlive them. EXAMPLE: "nvidia:sm_90a" is {Nvidia, "sm_90a"},
/// "cuda:1@sm_80" is {Cuda, "1", "sm_80", 1}.
struct TargetName {
  TargetKind kind = TargetKind::Unknown;
  std::string_view part = {};  ///< behind the colon: a level of the host, a chip, a device's number; empty where there is no colon
  std::string_view code = {};  ///< behind an @: the chip for which a device of CUDA's gets its code; empty: its own
  int index = 0;               ///< of a device of CUDA's or HIP's, 0 where none is named; -1 where `part` is no number

  bool isHost() const { return kind == TargetKind::Host; }
  bool isChip() const { return kind == TargetKind::Nvidia || kind == TargetKind::Amd; }
};

/// Never fails: what is none of the above is Unknown.
TargetName parseTarget(std::string_view text);

}  // namespace fattn

#endif
