// SPDX-License-Identifier: Apache-2.0
// LLVM keeps the options of its command line in globals, and lld sets all of them back when it links.
#ifndef FATTN_COMPILER_EMIT_LLVMOPTIONS_H
#define FATTN_COMPILER_EMIT_LLVMOPTIONS_H

#include <mutex>

namespace fattn::emit {

/// Held from where an option is set to where LLVM has read it, and while lld runs.
inline std::mutex& llvmOptions() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace fattn::emit

#endif
