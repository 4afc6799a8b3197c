// SPDX-License-Identifier: Apache-2.0
// Kernels of rows wait for memory, so that many warps have to share a multiprocessor: their registers are what decides how many.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "kernels/core/CompileProgram.h"
#include "kernels/template/Instance.h"
#include "tests/support/Command.h"

namespace fattn {
namespace {

struct Assembled {
  int registers = -1, spilledBytes = -1;
};

/// What the assembler says of the kernel for rows of so many columns, with the tile that a launch takes.
Assembled assemble(const std::string& name, std::int64_t columns, const std::filesystem::path& folder) {
  const std::int64_t extents[] = {8192, columns};
  const kernels::Instance instance(*findTemplate(name), {{"dtype", std::string("bf16")}}, "nvidia:sm_90a", extents);
  const TileConfig tile = instance.from->tileFor(instance.parameters, instance.machine, extents);
  const std::filesystem::path ptx = folder / (name + ".ptx");
  std::ofstream(ptx) << kernels::compileProgram(instance.job(tile)).binary.bytes;
  auto [status, log] = test::runCommand("ptxas -v -arch=sm_90a -o " + (folder / "k.cubin").string() + " " + ptx.string() + " 2>&1");
  EXPECT_EQ(status, 0) << log;
  Assembled result;
  std::smatch found;
  if (std::regex_search(log, found, std::regex("Used ([0-9]+) registers"))) result.registers = std::stoi(found[1]);
  if (std::regex_search(log, found, std::regex("([0-9]+) bytes spill stores"))) result.spilledBytes = std::stoi(found[1]);
  return result;
}

// docs/performance.md: with 16 warps a multiprocessor instead of 32, the layer norm took up to 1.6 times as long.
TEST(RowRegisters, LeaveRoomForThirtyTwoWarps) {
  if (test::runCommand("ptxas --version").status != 0) GTEST_SKIP() << "ptxas is not installed: the PTX was not assembled";
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fattn-rows-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const char* name : {"row_softmax", "layer_norm", "rms_norm"})
    for (const std::int64_t columns : {1024, 4096, 16384}) {
      const Assembled kernel = assemble(name, columns, folder);
      EXPECT_GT(kernel.registers, 0);
      EXPECT_LE(kernel.registers, 64) << name << ", " << columns << " columns";
      EXPECT_EQ(kernel.spilledBytes, 0) << name << ", " << columns << " columns";
    }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fattn
