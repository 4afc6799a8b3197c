// SPDX-License-Identifier: Apache-2.0
// PTX to a cubin and its disassembly, by NVIDIA's own programs.
#ifndef FATTN_TOOLS_FATTN_DUMP_SASS_H
#define FATTN_TOOLS_FATTN_DUMP_SASS_H

#include <optional>
#include <string>

#include "compiler/driver/Stage.h"

namespace fattn::dump {

/// What ptxas says of a kernel.
struct Usage {
  int registers = 0, barriers = 0;
  long sharedBytes = 0, spillStores = 0, spillLoads = 0, stackBytes = 0;
};

/// Reads the report of `ptxas -v`; nothing where it has none.
std::optional<Usage> parseUsage(const std::string& report);

struct Assembled {
  std::string cubin;
  Usage usage;
};

/// Assembles for a chip ("sm_90a"), with line tables where the PTX has them. Throws Error{Unsupported} where there is no ptxas in
/// PATH and Error{CompileError} with what it says.
Assembled assemble(const std::string& ptx, const std::string& chip);

/// The disassembly, with source lines where nvdisasm is there (cuobjdump has none). Throws Error{Unsupported} where both are missing.
compiler::Stage disassemble(const std::string& cubin);

}  // namespace fattn::dump

#endif
