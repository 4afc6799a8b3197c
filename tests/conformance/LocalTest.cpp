// SPDX-License-Identifier: Apache-2.0
// The devices that every machine has: the host, the simulated chips, and HIP's device, whose library is the stand-in of tests/unit/hip.
#include <cstdlib>

#include "tests/conformance/Conformance.h"

namespace fattn::conformance {
namespace {

/// The target of the stand-in. The runtime looks for HIP's library when such a GPU is asked for, which comes later.
std::string standIn() {
  setenv("FATTN_HIP_LIBRARY", FATTN_FAKE_HIP, 1);
  return "hip";
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Host, Conformance, testing::Values("host"), caseName);
INSTANTIATE_TEST_SUITE_P(Simulated, Conformance,
                         testing::Values("simulated:gfx942", "simulated:gfx950", "simulated:gfx1100", "simulated:gfx1201"), caseName);
INSTANTIATE_TEST_SUITE_P(Hip, Conformance, testing::Values(standIn()), caseName);

}  // namespace fattn::conformance
