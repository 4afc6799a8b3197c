// SPDX-License-Identifier: Apache-2.0
// The last word on addresses before instruction selection.
#ifndef FATTN_COMPILER_EMIT_SINKADDRESSES_H
#define FATTN_COMPILER_EMIT_SINKADDRESSES_H

namespace llvm {
class Module;
}

namespace fattn::emit {

/// See SinkAddresses.cpp.
void sinkAddresses(llvm::Module& module);

}  // namespace fattn::emit

#endif
