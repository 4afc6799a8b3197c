// SPDX-License-Identifier: Apache-2.0
// The host processor as the CPU back end sees it: one row of a machine table.
#ifndef FATTN_COMPILER_CPU_HOSTTARGET_H
#define FATTN_COMPILER_CPU_HOSTTARGET_H

#include <cstdint>
#include <string>

namespace fattn::cpu {

struct HostTarget {
  std::string cpu;       ///< LLVM's processor name, "znver5", "sapphirerapids", "x86-64-v3" ...
  std::string features;  ///< LLVM's feature string, "+avx512f,+avx512bf16,..."
  int64_t lanes = 4;     ///< f32 elements of one vector register
  int64_t registers = 16;
  bool fma = false;
  bool bf16Dot = false;      ///< vdpbf16ps: f32 += two products of bf16 pairs
  bool halfConvert = false;  ///< vcvtph2ps / vcvtps2ph
  bool scalef = false;       ///< vscalefps: x * 2^floor(y)
  int64_t lineBytes = 64;    ///< what memory hands over at once
  // How far in front of a read of memory its lines are asked for, so that they are there in time; and a line of each row further ahead, so
  // that the addresses of its page have been looked up by then.
  int64_t aheadBytes = 10240;
  int64_t pageAheadBytes = 32768;
};

}  // namespace fattn::cpu

#endif
