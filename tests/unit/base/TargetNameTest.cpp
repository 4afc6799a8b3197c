// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/base/TargetName.h"

namespace fattn {
namespace {

void expectParts(std::string_view text, TargetKind kind, std::string_view part, int index = 0) {
  const TargetName name = parseTarget(text);
  EXPECT_EQ(name.kind, kind) << text;
  EXPECT_EQ(name.part, part) << text;
  EXPECT_EQ(name.index, index) << text;
  EXPECT_EQ(name.isHost(), kind == TargetKind::Host) << text;
  EXPECT_EQ(name.isChip(), kind == TargetKind::Nvidia || kind == TargetKind::Amd) << text;
}

TEST(TargetName, HasAKindAndAPart) {
  expectParts("", TargetKind::Default, "");
  expectParts("host", TargetKind::Host, "");
  expectParts("host:avx2", TargetKind::Host, "avx2");
  expectParts("cuda", TargetKind::Cuda, "");
  expectParts("cuda:12", TargetKind::Cuda, "12", 12);
  expectParts("hip:1", TargetKind::Hip, "1", 1);
  expectParts("simulated:gfx942", TargetKind::Simulated, "gfx942");
  expectParts("nvidia:sm_90a", TargetKind::Nvidia, "sm_90a");
  expectParts("amd:gfx1100", TargetKind::Amd, "gfx1100");
}

TEST(TargetName, ADeviceOfCudasMayNameACode) {
  for (const char* text : {"cuda@sm_80", "cuda:3@sm_90a"}) {
    const TargetName name = parseTarget(text);
    EXPECT_EQ(name.kind, TargetKind::Cuda) << text;
    EXPECT_EQ(name.code, std::string_view(text).substr(std::string_view(text).find('@') + 1)) << text;
  }
  expectParts("cuda@sm_80", TargetKind::Cuda, "");
  expectParts("cuda:3@sm_90a", TargetKind::Cuda, "3", 3);
  for (const char* text : {"cuda@", "cuda:1@", "@sm_80", "host@avx2", "hip@gfx942", "nvidia:sm_90@sm_80"})
    expectParts(text, TargetKind::Unknown, "");
}

TEST(TargetName, NumbersOfDevicesHaveDigitsOnly) {
  for (const char* text : {"cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda: 1", "hip:99999999999"})
    EXPECT_EQ(parseTarget(text).index, -1) << text;
}

TEST(TargetName, WhatNobodyKnowsIsUnknown) {
  for (const char* text : {"tpu", "hostile", "Host", "cuda1", "nvidia", "amd", "simulator:gfx942", ":", ":host", " host"})
    expectParts(text, TargetKind::Unknown, "");
}

}  // namespace
}  // namespace fattn
