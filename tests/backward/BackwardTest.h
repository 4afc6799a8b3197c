// SPDX-License-Identifier: Apache-2.0
// The backward pass against float64 on a device. The targets are those that HostTest.cpp or CudaTest.cpp asks for.
#ifndef FATTN_TESTS_BACKWARD_BACKWARDTEST_H
#define FATTN_TESTS_BACKWARD_BACKWARDTEST_H

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "fattn/Backward.h"
#include "tests/backward/BackwardData.h"

namespace fattn::backward {

BackwardConfig configOf(const BackwardShape& shape, const std::string& target, bool deterministic);
/// The operands where a copy of the data's memory lies at `base`.
BackwardArgs argsOf(const BackwardData& data, std::byte* base);

using BackwardCase = std::tuple<std::string, DType>;

class BackwardOnDevice : public testing::TestWithParam<BackwardCase> {
 protected:
  const std::string& target() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  void SetUp() override;

  /// Launches where the target can reach a copy of the memory, which has what they wrote afterwards.
  void withMemory(std::vector<std::byte>& memory, const std::function<void(std::byte*)>& launch);
  /// Launches on the data where the target can reach it; the results are in the data afterwards.
  void launch(const BackwardKernel& kernel, BackwardData& data);
  /// Launches of both modes agree with float64.
  void expectRight(BackwardShape shape);
};

std::string backwardCaseName(const testing::TestParamInfo<BackwardCase>& info);

}  // namespace fattn::backward

#endif
