// SPDX-License-Identifier: Apache-2.0
// Compiles a traced program for one level of host instructions and runs its grid. Not by fattn::compile: each pass is verified, and levels
// that this processor lacks are compiled for, too.
#ifndef FATTN_TESTS_UNIT_CPU_RUN_H
#define FATTN_TESTS_UNIT_CPU_RUN_H

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "compiler/driver/Compile.h"
#include "dsl/Internal.h"
#include "fattn/Device.h"
#include "runtime/base/HostLevel.h"

namespace fattn::cpu_tests {

/// Every target of the host, for tests with parameters. Code is compiled for each; what this processor cannot run is skipped, with a
/// reason.
inline std::vector<std::string> allTargets() {
  std::vector<std::string> targets = {"host"};
  targets.insert(targets.end(), host::levelTargets().begin(), host::levelTargets().end());
  return targets;
}

/// Arguments are 8-byte slots in the order of the program's parameters. False where this processor lacks the level's instructions.
inline bool run(const dsl::Program& program, const std::string& target, Grid grid, std::span<const std::uint64_t> arguments) {
  compiler::CompileOptions options;
  options.verify = true;
  options.target = target;
  compiler::Binary binary = compiler::compile(dsl::internal::module(program), options);
  if (!host::isRunnable(target)) return false;
  Device& device = openDevice("host");
  device.launch(*device.load(binary), grid, arguments);
  return true;
}

template <class T>
std::uint64_t slot(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

#define FATTN_RUN_OR_SKIP(program, level, grid, arguments)     \
  if (!fattn::cpu_tests::run(program, level, grid, arguments)) \
  GTEST_SKIP() << "this processor does not run code for " << (level) << ", only for " << fattn::host::runnableTargetsText()

}  // namespace fattn::cpu_tests

#endif
