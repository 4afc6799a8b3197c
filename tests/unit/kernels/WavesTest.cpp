// SPDX-License-Identifier: Apache-2.0
// `waves8` in a schedule: what it does to the registers of AMD's kernels, and who refuses it.
#include <gtest/gtest.h>

#include "fattn/Error.h"
#include "fattn/TileConfig.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/core/CompileProgram.h"

namespace fattn {
namespace {

compiler::Binary forwardFor(const char* target, const char* schedule) {
  const kernels::ForwardKind kind{.dtype = DType::BF16, .head_dim = 64, .head_dim_v = 64, .causal = false, .alignment = 16};
  const TileConfig tile =
      TileConfig::parse("BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=4" + std::string(*schedule ? ",SCHEDULE=" : "") + schedule);
  EXPECT_EQ(TileConfig::parse(tile.toString()), tile);
  return kernels::compileProgram({.target = kernels::ResolvedTarget(target),
                                  .tile = tile,
                                  .folder = "",
                                  .trace = [&] { return traceAttentionForward(kind, tile); }})
      .binary;
}

std::string refusalOf(const char* target, const char* schedule) {
  try {
    forwardFor(target, schedule);
  } catch (const Error& error) {
    return error.constraint();
  }
  return "";
}

// 512 registers a lane of a SIMD of CDNA, in multiples of 8.
TEST(Waves, BoundTheRegistersOfAKernel) {
  const compiler::Binary free = forwardFor("amd:gfx950", "");
  EXPECT_GT(free.registers, 512 / 5 / 8 * 8) << "else the bound below is none";
  for (const char* schedule : {"waves5", "A B1 a b waves5", "waves5 waves2"}) {
    const compiler::Binary bound = forwardFor("amd:gfx950", schedule);
    EXPECT_LE(bound.registers, 512 / 5 / 8 * 8) << schedule;
    EXPECT_EQ(bound.sharedBytes, free.sharedBytes) << schedule;
  }
  EXPECT_EQ(forwardFor("amd:gfx950", "waves1").registers, free.registers) << "one wave may have all registers";
}

TEST(Waves, ThatNoSimdReachesAreRefused) {
  EXPECT_TRUE(refusalOf("amd:gfx950", "waves0").contains("waves0 asks for 0 waves a SIMD; with 4 waves and"))
      << refusalOf("amd:gfx950", "waves0");
  EXPECT_TRUE(refusalOf("amd:gfx950", "waves9").contains("legal numbers on amd:gfx950 are 1 to")) << refusalOf("amd:gfx950", "waves9");
  EXPECT_TRUE(
      refusalOf("nvidia:sm_90a", "waves2").contains("waves2 asks for waves a SIMD, which nvidia:sm_90a has no bound of registers for"));
}

}  // namespace
}  // namespace fattn
