// SPDX-License-Identifier: Apache-2.0
// The hash of the caches: BLAKE3.
#ifndef FATTN_RUNTIME_CACHE_HASH_H
#define FATTN_RUNTIME_CACHE_HASH_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fattn::cache {

using Digest = std::array<std::uint8_t, 32>;

Digest hash(std::string_view bytes);
/// 64 lower-case hexadecimal digits.
std::string hex(const Digest& digest);

}  // namespace fattn::cache

#endif
