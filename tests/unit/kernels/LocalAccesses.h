// SPDX-License-Identifier: Apache-2.0
// What ptxas keeps in local memory, and where.
#ifndef FATTN_TESTS_UNIT_KERNELS_LOCALACCESSES_H
#define FATTN_TESTS_UNIT_KERNELS_LOCALACCESSES_H

#include <string>

namespace fattn::test {

struct LocalAccesses {
  int loads = 0, stores = 0;
  int dots = 0;  ///< instructions of matrix units
};

/// Of the first loop with dots in the machine code of a kernel for Volta to Hopper (a cubin's bytes); no dots where there is none.
LocalAccesses localAccessesOfTheLoop(const std::string& cubin);

}  // namespace fattn::test

#endif
