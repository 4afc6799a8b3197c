// SPDX-License-Identifier: Apache-2.0
// Code objects for tests, made by LLVM from assembly or from LLVM IR, and linked as a compiler would.
#ifndef FATTN_TESTS_SIMULATOR_MAKECODEOBJECT_H
#define FATTN_TESTS_SIMULATOR_MAKECODEOBJECT_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/CodeObject.h"

namespace fattn::test {

/// The bytes of a linked code object. Fails the process with LLVM's diagnostic where the text is wrong.
std::vector<std::byte> assemble(std::string_view chip, const std::string& text);
std::vector<std::byte> compileIr(std::string_view chip, const std::string& text);

/// A kernel in assembly: its body runs with the address of its arguments in s[0:1], the workgroup's number in s2 and the thread's in v0.
/// Its arguments are pointers. It has 64 vector registers, as many accumulation registers on gfx942, and 48 scalar ones.
struct AssemblyKernel {
  std::string name;
  std::string body;  ///< without s_endpgm
  int pointers = 2;
  std::uint32_t ldsBytes = 0;
  bool flushesDenormals = false;
};
std::shared_ptr<const simulator::CodeObject> makeKernels(std::string_view chip, const std::vector<AssemblyKernel>& kernels);
std::shared_ptr<const simulator::CodeObject> makeFromIr(std::string_view chip, const std::string& text);

}  // namespace fattn::test

#endif
