// SPDX-License-Identifier: Apache-2.0
// Loaded code: what it says of itself, how long it lives, and which code is refused.
#include <array>

#include "tests/conformance/Programs.h"

namespace fattn::conformance {
namespace {

using Numbers = std::vector<std::int32_t>;

/// Launches code of step() on one number.
std::int32_t stepOnce(Device& device, const Module& module, std::int32_t number) {
  const Array<std::int32_t> x(device, Numbers{number});
  device.launch(module, {}, std::array{x.slot(), std::uint64_t{1}});
  return x.read()[0];
}

TEST_P(Conformance, AModuleSaysWhatItTakes) {
  const auto module = device().load(binaryOf(step(), device().chip()));
  EXPECT_EQ(module->slots(), 2U);
  constexpr int kMostRegisters = 512, kMostBlocks = 64;  // both kinds of registers of CDNA; blocks of any chip
  EXPECT_GE(module->registers(), isHost() ? 0 : 1);
  EXPECT_LE(module->registers(), isHost() ? 0 : kMostRegisters);
  EXPECT_EQ(module->localBytes(), 0) << "it is a small program";
  EXPECT_GE(module->residentBlocks(), 0);
  EXPECT_LE(module->residentBlocks(), kMostBlocks);
  EXPECT_TRUE(module->warnings().empty()) << module->warnings().front();
}

TEST_P(Conformance, AKernelSaysWhatItsModuleTakes) {
  const TileKernel kernel = compile(step(), {.target = target()});
  const KernelCode& info = kernel.info();
  EXPECT_EQ(info.target, device().name());
  EXPECT_EQ(info.device, device().description());
  EXPECT_GT(info.binary_bytes, 0);
  EXPECT_EQ(info.threads == 0, isHost());
  EXPECT_EQ(info.registers == 0, isHost());
  EXPECT_EQ(info.spill_bytes, 0);
  EXPECT_GE(info.resident, 0);
  EXPECT_LE(info.shared_bytes, device().capabilities().sharedBytes);
  EXPECT_EQ(kernel.args().size(), 2U);
}

TEST_P(Conformance, AModuleAcceptsWhatALaunchTakes) {
  const auto module = device().load(binaryOf(step(), device().chip()));
  const Array<std::int32_t> x(device(), Numbers{5});
  const std::array<std::uint64_t, 3> slots = {x.slot(), 1, 0};
  EXPECT_TRUE(module->accepts(std::span(slots).first(2)));
  device().launch(*module, {}, std::span(slots).first(2));
  EXPECT_EQ(x.read(), Numbers{11});
  for (const std::size_t given : {0, 1, 3}) EXPECT_FALSE(module->accepts(std::span(slots).first(given))) << given;
}

TEST_P(Conformance, ModulesOfOneBinaryComeAndGo) {
  auto binary = std::make_unique<compiler::Binary>(binaryOf(step(), device().chip()));
  auto first = device().load(*binary);
  EXPECT_EQ(stepOnce(device(), *first, 3), 7);
  const auto second = device().load(*binary);
  binary.reset();
  EXPECT_EQ(stepOnce(device(), *second, 4), 9);
  EXPECT_EQ(stepOnce(device(), *first, 5), 11) << "the second is another one";
  first.reset();
  EXPECT_EQ(stepOnce(device(), *second, 6), 13) << "the first has left it alone";
}

TEST_P(Conformance, MachineCodeIsLoadedInPlaceOfWhatItWasMadeFrom) {
  compiler::Binary binary = binaryOf(step(), device().chip());
  const auto module = device().load(binary);
  if (const std::string_view code = module->machineCode(); !code.empty()) binary.bytes = code;
  const auto again = device().load(binary);
  EXPECT_EQ(stepOnce(device(), *again, 20), 41);
  EXPECT_EQ(again->slots(), module->slots());
  EXPECT_EQ(again->registers(), module->registers());
}

TEST_P(Conformance, CodeForAnotherChipIsRefused) {
  compiler::Binary binary = binaryOf(step(), device().chip());
  for (const std::string other : {"host", "nvidia:sm_999", "amd:gfx942", "amd:gfx1100", "amd:gfx90a"}) {
    if (other == device().chip()) continue;
    binary.target = other;
    try {
      device().load(binary);
      ADD_FAILURE() << "code for " << other << " was loaded";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::InvalidArgument || error.code() == ErrorCode::Unsupported) << name(error.code());
      EXPECT_SAYS(error.constraint(), "'" + other + "'");
      EXPECT_SAYS(error.constraint(), device().name());
      EXPECT_SAYS(error.hint(), "compile it for '") << "it says what would be loaded";
    }
  }
  binary.target = device().chip();
  EXPECT_EQ(stepOnce(device(), *device().load(binary), 1), 3);
}

TEST_P(Conformance, AModuleIsOfOneDevice) {
  Device& other = openDevice(isHost() ? "simulated:gfx942" : "host");
  const auto mine = device().load(binaryOf(step(), device().chip())), foreign = other.load(binaryOf(step(), other.chip()));
  const std::array<std::uint64_t, 2> slots{};
  const auto launch = [&](Device& on, const Module& module) {
    return refusalOf(ErrorCode::InvalidArgument, [&] { on.launch(module, {}, slots); });
  };
  EXPECT_SAYS(launch(device(), *foreign), "load it on " + device().name() + " too");
  EXPECT_SAYS(launch(other, *mine), "load it on " + other.name() + " too");
  EXPECT_EQ(stepOnce(device(), *mine, 8), 17);
}

}  // namespace
}  // namespace fattn::conformance
