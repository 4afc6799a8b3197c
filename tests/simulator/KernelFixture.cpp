// SPDX-License-Identifier: Apache-2.0
#include "tests/simulator/KernelFixture.h"

#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {

using namespace simulator;

const char* const kDeclarations = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" "uniform-work-group-size"="true" }
)";

Statistics KernelFixture::run(const CodeObject& object, const std::string& kernel, std::uint32_t blocks, std::uint32_t threads) {
  EXPECT_EQ(object.unknownMnemonics(), std::vector<std::string>());
  Statistics statistics;
  using Order = LaunchOptions::Order;
  for (Order order : {Order::Forward, Order::Reversed, Order::Random}) {
    LaunchResult result =
        launch(object, kernel, std::as_bytes(std::span(addresses_)), {blocks, 1, 1}, {threads, 1, 1}, memory_, {.order = order, .seed = 7});
    if (result.fault) ADD_FAILURE() << result.fault->text();
    statistics = result.statistics;
  }
  return statistics;
}

Statistics KernelFixture::runIr(const std::string& ir, const std::string& kernel, std::uint32_t blocks, std::uint32_t threads) {
  return run(*makeFromIr(chip(), kDeclarations + ir), kernel, blocks, threads);
}

std::string KernelFixture::faultOf(const CodeObject& object, const std::string& kernel, std::uint32_t threads, LaunchOptions options) {
  LaunchResult result = launch(object, kernel, std::as_bytes(std::span(addresses_)), {1, 1, 1}, {threads, 1, 1}, memory_, options);
  return result.fault ? result.fault->text() : "";
}

}  // namespace fattn::test
