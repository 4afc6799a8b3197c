// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/Conformance.h"

#include <algorithm>

namespace fattn::conformance {

void Conformance::SetUp() {
  try {
    device_ = &openDevice(target());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NoDevice) throw;
    GTEST_SKIP() << error.what();
  }
}

std::string caseName(const testing::TestParamInfo<std::string>& info) {
  std::string text = info.param;
  std::ranges::replace(text, ':', '_');
  return text;
}

std::string refusalOf(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error, where there must be one: " << name(code);
  return "no error";
}

}  // namespace fattn::conformance
