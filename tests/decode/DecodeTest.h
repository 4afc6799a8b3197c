// SPDX-License-Identifier: Apache-2.0
// Decode against float64 on a device. The targets are those that HostTest.cpp or CudaTest.cpp asks for.
#ifndef FATTN_TESTS_DECODE_DECODETEST_H
#define FATTN_TESTS_DECODE_DECODETEST_H

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/decode/DecodeData.h"

namespace fattn::decode {

using DeviceCase = std::tuple<std::string, DType>;

class OnDevice : public testing::TestWithParam<DeviceCase> {
 protected:
  const std::string& target() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  void SetUp() override;

  /// Launches on the data where the target can reach it; the results are in the data afterwards.
  void launch(const DecodeKernel& kernel, DecodeData& data, int splits);
  /// A launch with each number of splits agrees with float64.
  void expectRight(DecodeShape shape, std::initializer_list<int> splits);
};

std::string deviceCaseName(const testing::TestParamInfo<DeviceCase>& info);

}  // namespace fattn::decode

#endif
