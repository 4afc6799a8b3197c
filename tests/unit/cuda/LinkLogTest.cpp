// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/cuda/LinkLog.h"

namespace fattn::cuda {
namespace {

TEST(LinkLog, OfTheDriver) {
  LinkLog log = parseLinkLog(
      "info    : 0 bytes gmem\n"
      "info    : Function properties for 'attend_3_registers':\n"
      "info    : used 168 registers, 24 stack, 1024 bytes smem, 560 bytes cmem[0], 16 bytes lmem\n");
  EXPECT_EQ(log.registers, 168);
  EXPECT_EQ(log.stackBytes, 24);
  EXPECT_EQ(log.localBytes, 16);
  EXPECT_EQ(log.spillStoreBytes, -1);
  EXPECT_TRUE(log.warnings.empty());
}

TEST(LinkLog, OfPtxas) {
  LinkLog log = parseLinkLog(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'spill' for 'sm_90'\n"
      "ptxas info    : Function properties for spill\n"
      "    64 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\r\n"
      "ptxas info    : Used 8 registers, used 0 barriers, 64 bytes cumulative stack size\n"
      "ptxas info    : Function properties for other\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers");
  EXPECT_EQ(log.registers, 255);
  EXPECT_EQ(log.stackBytes, 64);
  EXPECT_EQ(log.spillStoreBytes, 8);
  EXPECT_EQ(log.spillLoadBytes, 12);
  EXPECT_EQ(log.localBytes, -1);
}

TEST(LinkLog, WarningsAndAdvice) {
  LinkLog log = parseLinkLog(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to 9999 registers in function "
      "'f'\n"
      "ptxas warning : Value of threads per SM for entry f is out of range. .minnctapersm will be ignored\n"
      "info    : used 32 registers, 0 stack, 0 bytes lmem\n"
      "warning : too many things\n"
      "info    : (Cuda) is no code, nor is (C)\n");
  ASSERT_EQ(log.warnings.size(), 3u);
  EXPECT_TRUE(log.warnings[0].starts_with("ptxas info    : (C7510) Potential")) << log.warnings[0];
  EXPECT_TRUE(log.warnings[1].starts_with("ptxas warning : Value")) << log.warnings[1];
  EXPECT_EQ(log.warnings[2], "warning : too many things");
  EXPECT_EQ(log.registers, 32) << "numbers in a warning are not the kernel's";
}

TEST(LinkLog, NothingToRead) {
  LinkLog log = parseLinkLog("");
  EXPECT_EQ(log.registers, -1);
  log = parseLinkLog(" registers\nused 99999999999999 registers, x stack,\n\n");
  EXPECT_EQ(log.registers, -1);
  EXPECT_EQ(log.stackBytes, -1);
}

}  // namespace
}  // namespace fattn::cuda
