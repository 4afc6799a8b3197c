// SPDX-License-Identifier: Apache-2.0
// The passes fattn-opt knows.
#ifndef FATTN_TOOLS_FATTN_OPT_REGISTERPASSES_H
#define FATTN_TOOLS_FATTN_OPT_REGISTERPASSES_H

namespace fattn {

/// Makes every pass available as an option of fattn-opt. A folder of the compiler with passes of its own adds its
/// registration function here.
void registerAllPasses();
/// `--emit-ptx=chip=sm_90`: see EmitPtx.cpp.
void registerEmitPtxPass();

/// Whether the command line names a pass that prints its own result (--interpret, --emit-ptx): the module is then not printed, too.
bool printsItsResult(int argc, char** argv);

}  // namespace fattn

#endif
