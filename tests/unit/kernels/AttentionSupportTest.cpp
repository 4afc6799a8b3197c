// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "kernels/attention/AttentionSupport.h"
#include "kernels/core/Target.h"

namespace fattn {
namespace {

std::string verdict(const AttentionConfig& config, ErrorCode code = ErrorCode::Unsupported) {
  std::expected<void, Error> result = supports(config);
  if (result) return "supported";
  EXPECT_EQ(result.error().code(), code);
  return result.error().what();
}

TEST(AttentionSupport, EveryMultipleOfEightUpTo256) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16})
    for (std::int64_t dim = 8; dim <= 256; dim += 8)
      EXPECT_EQ(verdict({.dtype = dtype, .head_dim = dim, .head_dim_v = 264 - dim, .target = "host"}), "supported");
}

TEST(AttentionSupport, HeadDimNamesTheNearest) {
  const char* rule = "; it must be a multiple of 8 from 8 to 256\n  hint: the nearest supported head_dim is ";
  const char* padding = "; columns of zeros up to it change no result if the scale stays that of ";
  EXPECT_EQ(verdict({.head_dim = 60}), std::string("head_dim is 60") + rule + "64" + padding + "60");
  EXPECT_EQ(verdict({.head_dim = 1}), std::string("head_dim is 1") + rule + "8" + padding + "1");
  EXPECT_EQ(verdict({.head_dim = 0}), std::string("head_dim is 0") + rule + "8");
  EXPECT_EQ(verdict({.head_dim = -64}), std::string("head_dim is -64") + rule + "8");
  EXPECT_EQ(verdict({.head_dim = 264}), std::string("head_dim is 264") + rule + "256");
  EXPECT_EQ(verdict({.head_dim = INT64_MAX}), std::string("head_dim is 9223372036854775807") + rule + "256");
  EXPECT_EQ(verdict({.head_dim = 64, .head_dim_v = 4}),
            "head_dim_v is 4; it must be a multiple of 8 from 8 to 256\n"
            "  hint: the nearest supported head_dim_v is 8" +
                std::string(padding) + "4");
}

TEST(AttentionSupport, DTypeNamesTheLegalOnes) {
  EXPECT_EQ(verdict({.dtype = DType::I32, .head_dim = 64}), "dtype is i32; it must be f32, f16 or bf16");
  EXPECT_EQ(verdict({.dtype = DType::F8E4M3, .head_dim = 64}),
            "dtype is f8e4m3; it must be f32, f16 or bf16\n  hint: the nearest supported dtype is f16");
}

TEST(AttentionSupport, UnknownTargetNamesTheDevices) {
  std::string message = verdict({.head_dim = 64, .target = "tpu"}, ErrorCode::NoDevice);
  EXPECT_TRUE(message.starts_with("there is no device for target 'tpu'\n  hint: devices of this machine: host")) << message;
}

// On a driver made for tests, in a process of its own, as a process opens one driver.
TEST(AttentionSupport, AGpuIsATarget) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("FATTN_CUDA_LIBRARY", FATTN_FAKE_CUDA, 1);
        std::fprintf(stderr, "%s, %s, %s\n", verdict({.head_dim = 64, .target = "cuda"}).c_str(),
                     kernels::resolve({.head_dim = 64, .target = "cuda"}).target.c_str(), kernels::codeTarget("cuda:0").c_str());
        _exit(0);
      },
      testing::ExitedWithCode(0), "supported, cuda:0, nvidia:sm_90a\n");
}

TEST(AttentionSupport, AGpuIsATargetWithTheCodeOfAnEarlierChip) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("FATTN_CUDA_LIBRARY", FATTN_FAKE_CUDA, 1);
        const kernels::ResolvedTarget target("cuda@sm_80");
        std::fprintf(stderr, "%s, %s, %s, %s\n", verdict({.head_dim = 64, .target = "cuda@sm_80"}).c_str(), target.name.c_str(),
                     target.code.c_str(), target.device->name().c_str());
        std::fprintf(stderr, "%s, %s\n", resolveTarget("cuda:0@sm_90").c_str(), kernels::codeTarget("cuda:0@sm_90").c_str());
        std::fprintf(stderr, "%s\n", verdict({.head_dim = 64, .target = "cuda@sm_100a"}, ErrorCode::InvalidArgument).c_str());
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "supported, cuda:0@sm_80, nvidia:sm_80, cuda:0\n"
      "cuda:0@sm_90, nvidia:sm_90\n"
      "target is 'cuda:0@sm_100a', whose device is sm_90: it runs no code for 'sm_100a' that fattn compiles\n"
      "  hint: behind the @ may stand sm_80, sm_86, sm_89, sm_90, sm_90a; without it fattn chooses\n");
}

TEST(AttentionSupport, AChipIsATargetWithoutADevice) {
  EXPECT_EQ(verdict({.head_dim = 64, .target = "nvidia:sm_80"}), "supported");
  EXPECT_EQ(kernels::codeTarget("nvidia:sm_80"), "nvidia:sm_80");
  std::string message = verdict({.head_dim = 64, .target = "nvidia:sm_70"}, ErrorCode::InvalidArgument);
  EXPECT_NE(message.find("nvidia:sm_80"), std::string::npos) << message;
}

TEST(AttentionSupport, AChipOfAMDsIsATargetWhereItHasTheDots) {
  for (const char* target : {"amd:gfx942", "amd:gfx1100", "simulated:gfx1100"})
    EXPECT_EQ(verdict({.dtype = DType::BF16, .head_dim = 64, .target = target}), "supported") << target;
  EXPECT_EQ(verdict({.dtype = DType::F32, .head_dim = 64, .target = "amd:gfx942"}), "supported");
  for (const char* target : {"amd:gfx1100", "simulated:gfx1100"}) {
    const AttentionConfig config{.dtype = DType::F32, .head_dim = 64, .target = target};
    const auto kernel = try_compile(config);
    ASSERT_FALSE(kernel) << target;
    EXPECT_EQ(verdict(config, kernel.error().code()), kernel.error().what());
  }
}

TEST(AttentionSupport, AlignmentIsAPowerOfTwoFromTheElementTo16) {
  EXPECT_EQ(verdict({.dtype = DType::F32, .head_dim = 64, .alignment = 2}, ErrorCode::InvalidArgument),
            "alignment is 2; it must be a power of two from 4, the size of f32, to 16");
  EXPECT_EQ(verdict({.head_dim = 64, .alignment = 12}, ErrorCode::InvalidArgument),
            "alignment is 12; it must be a power of two from 2, the size of f16, to 16");
  EXPECT_EQ(verdict({.head_dim = 64, .target = "nvidia:sm_90", .alignment = 8}), "supported");
  EXPECT_EQ(kernels::resolve({.head_dim = 64, .target = "nvidia:sm_90"}).kind.alignment, 16);
  EXPECT_EQ(kernels::resolve({.head_dim = 64, .target = "host", .alignment = 16}).kind.alignment, 2) << "one kernel on the host";
}

TEST(AttentionSupport, TileConfigurationIsChecked) {
  EXPECT_EQ(verdict({.head_dim = 64, .tile = TileConfig{.block_n = 12}}, ErrorCode::InvalidArgument),
            "tile configuration: BLOCK_N is 12; legal values are 1, 2, 4 and multiples of 8 up to 16384\n"
            "  hint: leave BLOCK_N out to let fattn choose");
  EXPECT_EQ(verdict({.head_dim = 64, .tile = TileConfig{.block_k = 16}}, ErrorCode::InvalidArgument),
            "tile configuration: BLOCK_K is not a choice of attention\n"
            "  hint: its choices are BLOCK_M, BLOCK_N, STAGES, WARPS, SCHEDULE");
}

TEST(AttentionSupport, ResolveFillsWhatIsOpen) {
  const kernels::ResolvedAttention resolved = kernels::resolve({.head_dim = 64, .target = "host", .tile = TileConfig{.block_m = 24}});
  EXPECT_EQ(resolved.kind.head_dim_v, 64);
  EXPECT_EQ(resolved.target, "host");
  EXPECT_EQ(resolved.tile.block_m, 24);
  EXPECT_GT(resolved.tile.block_n, 0);
  EXPECT_EQ(kernels::resolve(kernels::configOf(resolved.kind, resolved.target, resolved.tile)), resolved);
}

TEST(AttentionSupport, TheExpectedShapeIsChecked) {
  EXPECT_EQ(verdict({.head_dim = 64, .shape = ShapeHint{.batch = -1}}, ErrorCode::InvalidArgument),
            "shape has the extent -1; legal extents are 0 to 2147483647\n  hint: 0 says that it is not known");
  EXPECT_EQ(verdict({.head_dim = 64, .target = "host", .shape = ShapeHint{.seq_q = 4096}}), "supported");
}

}  // namespace
}  // namespace fattn
