// SPDX-License-Identifier: Apache-2.0
// Compiles a traced program for one level of host instructions and runs its grid.
#ifndef FATTN_TESTS_UNIT_CPU_RUN_H
#define FATTN_TESTS_UNIT_CPU_RUN_H

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "compiler/driver/Compile.h"
#include "dsl/Internal.h"
#include "fattn/Device.h"
#include "fattn/Error.h"

namespace fattn::cpu_tests {

/// The levels of emit::hostTarget; a test that this processor cannot run is skipped and says so.
inline const char* const kLevels[] = {"host", "host:sse2", "host:avx2", "host:avx512", "host:avx512bf16"};

/// Arguments are 8-byte slots in the order of the program's parameters. False where this processor lacks the level's instructions.
inline bool run(const dsl::Program& program, const std::string& level, Grid grid, std::span<const std::uint64_t> arguments) {
  compiler::CompileOptions options;
  options.target = level;
  compiler::Binary binary = compiler::compile(dsl::internal::module(program), options);
  Device& device = openDevice("host");
  std::unique_ptr<Module> module;
  try {
    module = device.load(binary);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported && error.code() != ErrorCode::NoDevice) throw;
    return false;
  }
  device.launch(*module, grid, arguments);
  return true;
}

template <class T>
std::uint64_t slot(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

#define FATTN_RUN_OR_SKIP(program, level, grid, arguments) \
  if (!fattn::cpu_tests::run(program, level, grid, arguments)) GTEST_SKIP() << "this processor cannot run code for " << (level)

}  // namespace fattn::cpu_tests

#endif
