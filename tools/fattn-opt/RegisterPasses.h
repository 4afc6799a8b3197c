// SPDX-License-Identifier: Apache-2.0
// The passes fattn-opt knows.
#ifndef FATTN_TOOLS_FATTN_OPT_REGISTERPASSES_H
#define FATTN_TOOLS_FATTN_OPT_REGISTERPASSES_H

namespace fattn {

/// Makes every pass available as an option of fattn-opt. A folder of the compiler with passes of its own adds its
/// registration function here.
void registerAllPasses();

}  // namespace fattn

#endif
