// SPDX-License-Identifier: Apache-2.0
// Reads the assembler's log: what a kernel takes of the machine, and what the assembler warned about.
//
//   info    : Function properties for 'kernel':
//   info    : used 10 registers, 16 stack, 328 bytes cmem[0], 8 bytes lmem              (the driver)
//
//   ptxas info    : Function properties for kernel
//       64 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
//   ptxas info    : Used 10 registers, used 0 barriers                                  (newer drivers, and ptxas itself)
//   ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ...
#ifndef FATTN_RUNTIME_CUDA_LINKLOG_H
#define FATTN_RUNTIME_CUDA_LINKLOG_H

#include <string>
#include <string_view>
#include <vector>

namespace fattn::cuda {

/// The largest numbers of all functions in the log; -1 where it gives none.
struct LinkLog {
  int registers = -1;
  int stackBytes = -1;
  int spillStoreBytes = -1, spillLoadBytes = -1;
  int localBytes = -1;
  std::vector<std::string> warnings;  ///< warnings, and advice with a code of the form (C75xx); whole lines, in order
};

LinkLog parseLinkLog(std::string_view log);

}  // namespace fattn::cuda

#endif
