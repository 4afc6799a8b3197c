// SPDX-License-Identifier: Apache-2.0
// Reads the line tables that LLVM IR, assembly, PTX and disassembled SASS carry in their text, and takes them out of it.
#ifndef FATTN_TOOLS_FATTN_DUMP_LINETABLES_H
#define FATTN_TOOLS_FATTN_DUMP_LINETABLES_H

#include "compiler/driver/Stage.h"

namespace fattn::dump {

/// Fills `lines` of a stage whose text has line tables, and leaves the text as it would be without them. A stage that has `lines` already,
/// or is of another kind ("ll", "s", "ptx" and "sass" are known), stays as it is.
void readLineTables(compiler::Stage& stage);

}  // namespace fattn::dump

#endif
