// SPDX-License-Identifier: Apache-2.0
// Element types of tensors and tiles.
#ifndef FATTN_DTYPE_H
#define FATTN_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace fattn {

/// Element type. The floating-point formats are IEEE 754 binary16/32, bfloat16, and the OCP 8-bit formats
/// E4M3 (finite only, one NaN pattern per sign) and E5M2. I1 is one byte in memory, 0 or 1.
enum class DType : std::uint8_t { F32, F16, BF16, F8E4M3, F8E5M2, I1, I8, I32, I64 };

/// Bytes one element takes in memory.
std::int64_t sizeInBytes(DType type);
/// Lower-case name as the command line and JSON files spell it: "f32", "bf16", "f8e4m3", "i32" ...
std::string_view name(DType type);
/// The inverse of name(); nothing where no type is called so.
std::optional<DType> parseDType(std::string_view text);
bool isFloat(DType type);

}  // namespace fattn

#endif
