// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Hash.h"

#include "llvm/Support/BLAKE3.h"

namespace fattn::cache {

Digest hash(std::string_view bytes) {
  return llvm::BLAKE3::hash<32>(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

std::string hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace fattn::cache
