// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernels/LocalAccesses.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace fattn::test {
namespace {

/// Instructions have 16 bytes and their opcode in the lowest 12 bits. These numbers are what nvdisasm shows as BRA, LDL, STL, HMMA and
/// HGMMA.
constexpr std::uint64_t kBranch = 0x947, kLoadLocal = 0x983, kStoreLocal = 0x387, kDot = 0x23c, kAsyncDots[] = {0x1f0, 0x9f0, 0xdf0};

struct Instruction {
  std::uint64_t low, high;
  std::uint64_t opcode() const { return low & 0xfff; }
  /// Of a branch: how many instructions behind the next one it leads, from its 56 bits of words of 4 bytes.
  std::int64_t distance() const {
    const std::uint64_t upper = low >> 34U | (high & 0x3ffff) << 30U;
    return static_cast<std::int64_t>((upper << 8U | (low >> 16U & 0xff)) << 8U) >> 8U >> 2U;
  }
  bool isDot() const { return opcode() == kDot || std::ranges::find(kAsyncDots, opcode()) != std::end(kAsyncDots); }
};

std::vector<Instruction> codeOf(const std::string& cubin) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(cubin, "cubin"));
  std::vector<Instruction> code;
  if (!file) {
    llvm::consumeError(file.takeError());
    return code;
  }
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName(), bytes = section.getContents();
    if (!name || !bytes || !name->starts_with(".text.")) continue;
    code.resize(bytes->size() / sizeof(Instruction));
    std::memcpy(code.data(), bytes->data(), code.size() * sizeof(Instruction));
  }
  return code;
}

}  // namespace

LocalAccesses localAccessesOfTheLoop(const std::string& cubin) {
  const std::vector<Instruction> code = codeOf(cubin);
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::int64_t head = static_cast<std::int64_t>(i) + 1 + code[i].distance();
    if (code[i].opcode() != kBranch || head < 0 || head >= static_cast<std::int64_t>(i)) continue;
    LocalAccesses found;
    for (std::size_t at = static_cast<std::size_t>(head); at <= i; ++at) {
      found.loads += code[at].opcode() == kLoadLocal ? 1 : 0;
      found.stores += code[at].opcode() == kStoreLocal ? 1 : 0;
      found.dots += code[at].isDot() ? 1 : 0;
    }
    if (found.dots > 0) return found;
  }
  return {};
}

}  // namespace fattn::test
