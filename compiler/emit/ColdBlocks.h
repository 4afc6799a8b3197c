// SPDX-License-Identifier: Apache-2.0
// Keeps the last scheduler from blocks that hardly matter; see ColdBlocks.cpp.
#ifndef FATTN_COMPILER_EMIT_COLDBLOCKS_H
#define FATTN_COMPILER_EMIT_COLDBLOCKS_H

namespace llvm {
class FunctionPass;
}

namespace fattn::emit {

/// To be run before AMD's scheduler behind the register allocation, and behind it. Whoever takes them owns them.
llvm::FunctionPass* createFenceColdBlocks();
llvm::FunctionPass* createUnfenceColdBlocks();

}  // namespace fattn::emit

#endif
