// SPDX-License-Identifier: Apache-2.0
// What a code object says of its kernel, and that making them is safe on several threads.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "compiler/emit/LinkHsaco.h"
#include "fattn/Error.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "tests/unit/amd/Compile.h"

namespace fattn {
namespace {

/// Names of the dynamic symbols, by which a loader finds kernels.
std::vector<std::string> symbolsOf(const std::string& bytes) {
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "code object"));
  std::vector<std::string> names;
  if (!object) return {llvm::toString(object.takeError())};
  const auto& elf = *llvm::cast<llvm::object::ELFObjectFileBase>(object->get());
  for (const auto& symbol : elf.getDynamicSymbolIterators()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    names.push_back(name ? name->str() : llvm::toString(name.takeError()));
  }
  return names;
}

TEST(CodeObject, ExportsTheKernelAndItsDescriptor) {
  const compiler::Binary binary = test::compileKernel("gemm-f16", "amd:gfx942");
  EXPECT_EQ(symbolsOf(binary.bytes), (std::vector<std::string>{binary.entry, binary.entry + ".kd"}));
}

TEST(CodeObject, SaysHowMuchSharedMemoryABlockTakes) {
  const compiler::Binary product = test::compileKernel("gemm-f16", "amd:gfx942");
  EXPECT_GE(product.sharedBytes, 1024) << "operands lie there";
  const compiler::Binary empty = test::compileText("func.func @k(%p: !tile.ptr<f32>) attributes {tile.kernel} { return }", "amd:gfx942");
  EXPECT_EQ(empty.sharedBytes, 0);
}

TEST(CodeObject, IsTheSameOnSeveralThreads) {
  const std::string expected = test::compileKernel("odd-sizes", "amd:gfx1100").bytes;
  std::vector<std::string> made(4);
  {
    std::vector<std::jthread> threads;
    for (std::string& one : made) threads.emplace_back([&] { one = test::compileKernel("odd-sizes", "amd:gfx1100").bytes; });
  }
  for (const std::string& one : made) EXPECT_EQ(one, expected);
}

TEST(CodeObject, WhatIsNoObjectIsNotLinked) {
  try {
    emit::linkHsaco("no object");
    FAIL() << "linked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_EQ(error.constraint().find("the code object could not be linked: ld.lld: error: "), 0U) << error.constraint();
  }
  EXPECT_TRUE(test::compileKernel("gemm-f16", "amd:gfx942").bytes.starts_with("\177ELF")) << "the linker works on after a failure";
}

}  // namespace
}  // namespace fattn
