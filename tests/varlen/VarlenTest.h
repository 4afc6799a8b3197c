// SPDX-License-Identifier: Apache-2.0
// Packed sequences against float64 on a device. The targets are those that HostTest.cpp or CudaTest.cpp asks for.
#ifndef FATTN_TESTS_VARLEN_VARLENTEST_H
#define FATTN_TESTS_VARLEN_VARLENTEST_H

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "tests/varlen/VarlenData.h"

namespace fattn::varlen {

using DeviceCase = std::pair<std::string, DType>;

class PackedSequences : public testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override;
  /// A launch agrees with float64 in the first `max_q` rows of each sequence, and writes nothing else.
  void expectRight(VarlenShape shape, std::optional<std::int64_t> max_q = {});
};

std::string deviceCaseName(const testing::TestParamInfo<DeviceCase>& info);

}  // namespace fattn::varlen

#endif
