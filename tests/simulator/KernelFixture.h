// SPDX-License-Identifier: Apache-2.0
// Runs kernels on buffers of the test, in several orders of waves.
#ifndef FATTN_TESTS_SIMULATOR_KERNELFIXTURE_H
#define FATTN_TESTS_SIMULATOR_KERNELFIXTURE_H

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/Run.h"

namespace fattn::test {

/// Numbers that look drawn, the same in every run.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : state_(seed) {}
  std::uint32_t operator()() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 33);
  }

 private:
  std::uint64_t state_;
};

/// Its parameter is a chip. Buffers are the kernel's arguments in the order in which they are added.
class KernelFixture : public testing::TestWithParam<const char*> {
 protected:
  std::string chip() const { return GetParam(); }
  bool isCdna() const { return chip().starts_with("gfx9"); }
  int lanes() const { return isCdna() ? 64 : 32; }

  template <class T>
  void buffer(const char* name, std::vector<T>& data, simulator::Memory::Use use = simulator::Memory::Use::ReadWrite) {
    addresses_.push_back(memory_.add(name, std::as_writable_bytes(std::span(data)), use));
  }

  void forgetBuffers() { addresses_.clear(); }

  /// Runs with the waves in order, reversed and in a random order, and fails the test where one is stopped. Buffers keep the last one's
  /// results.
  simulator::Statistics run(const simulator::CodeObject& object, const std::string& kernel, std::uint32_t blocks, std::uint32_t threads);
  simulator::Statistics runIr(const std::string& ir, const std::string& kernel, std::uint32_t blocks, std::uint32_t threads);
  /// The text of the fault that stops the kernel; empty where none does.
  std::string faultOf(const simulator::CodeObject& object, const std::string& kernel, std::uint32_t threads,
                      simulator::LaunchOptions options = simulator::LaunchOptions());

 private:
  simulator::Memory memory_;
  std::vector<std::uint64_t> addresses_;
};

/// Declarations that the kernels of the tests share.
extern const char* const kDeclarations;

}  // namespace fattn::test

#endif
